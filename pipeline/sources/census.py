"""Which fields rows have, and of what types: counted while the rows are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipeline.sources import rows
from pipeline.sources.reading import BadLine, Builder, Chunk, Met

TYPES = {str: "text", int: "whole", float: "fractional", bool: "boolean", type(None): "null"}
Kinds = tuple[Any, ...]


class Census(Builder):
    """Another builder whose objects are counted by their keys and the types of their values.

    Every line that holds an object counts, also one that cannot be used.
    """

    def __init__(self, builder: Builder) -> None:
        super().__init__()
        self._builder = builder
        self._place = (0, 0)
        self._objects: dict[Kinds, list[int]] = {}
        builder.parse = self.counting("row", builder.parse)

    def add(self, source: int, line: int, offset: int, view: memoryview) -> None:
        """Adds the row on a line to the other builder."""
        self._place = source, line
        self._builder.add(source, line, offset, view)

    def counting(self, at: str, look_up: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """The same lookup; the objects that it gives are counted as standing there."""
        objects = self._objects

        def counted(where: Any) -> Any:
            found = look_up(where)
            if type(found) in rows.OBJECTS:
                kinds = (at, tuple(found), *map(type, found.values()))
                seen = objects.get(kinds)
                if seen is None:
                    objects[kinds] = [1, *self._place]
                else:
                    seen[0] += 1
            return found

        return counted

    def chunk(self, lines: list[int], bad: list[BadLine], read: int) -> Chunk:
        """What was added to the other builder, and the fields met."""
        objects = sum(seen[0] for kinds, seen in self._objects.items() if kinds[0] == "row")
        return self._builder.chunk(lines, bad, read)._replace(objects=objects, met=self._met())

    def _met(self) -> tuple[Met, ...]:
        met: dict[tuple[str, str, str], Met] = {}
        for (at, keys, *types), (count, source, line) in self._objects.items():
            final = {key: place for place, key in enumerate(keys)}
            for key, place in final.items():
                kind = _word(types[place])
                before = met.get((at, key, kind)) or Met(at, key, kind, 0, 0, source, line)
                repeated = count if keys.count(key) > 1 else 0
                met[at, key, kind] = before._replace(rows=before.rows + count, repeated=before.repeated + repeated)
        return tuple(met.values())


def _word(kind: type[Any]) -> str:
    return TYPES.get(kind) or ("list" if kind in rows.LISTS else "object")
