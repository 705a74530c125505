"""Objects under a row → the numbers in them, as fields of the row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from pipeline import names
from pipeline.sources import fields, rows
from pipeline.sources.fields import Fields, Key, Kinds

Path = tuple[str, ...]


class Nested:
    """Puts the numbers under nested objects behind each object that a path leads into, keyed by their path.

    Lists and names that start with `_` are skipped. Objects that have the same keys and the same kinds of values are
    taken apart by one plan, so that rows that are alike are quick.

    Args:
        paths: From the row, the objects wanted; None for every object at its top level.
        root: What the keys start with.
    """

    def __init__(self, paths: Iterable[Path] | None, root: Path = ()) -> None:
        self._paths = None if paths is None else tuple(dict.fromkeys(paths))
        self._root = root
        self._rows: dict[Kinds, _RowPlan] = {}
        self._objects: dict[tuple[Path, Kinds], _ObjectPlan] = {}
        self._keys: dict[tuple[Key, ...], tuple[Key, ...]] = {}  # for ever, so that an id tells them apart

    def __call__(self, of: Fields) -> Fields:
        """The fields of a row with the numbers."""
        keys, values = of
        kinds = keys, tuple(map(type, values))
        plan = self._rows.get(kinds)
        if plan is None:
            leads = list(self._leads_of(of))
            plan = self._rows[kinds] = _RowPlan(leads, [lead.place + 1 for lead in leads], {})
        if not plan.leads:
            return of
        parts = [self._numbers(_at(values[place], path), prefix) for place, path, prefix in plan.leads]
        which = tuple([id(part[0]) for part in parts])
        picked = plan.picked.get(which)
        if picked is None:
            picked = plan.picked[which] = _picked(keys, plan.stops, [part[0] for part in parts])
        for part in parts:
            values += part[1]
        return picked.keys, picked.take(values)

    def _leads_of(self, of: Fields) -> Iterator[_Lead]:
        """Which fields of such a row to look under; of a name that is there twice the last one."""
        keys, values = of
        final = {key: place for place, key in enumerate(keys)}
        for place, (key, value) in enumerate(zip(keys, values, strict=True)):
            if final[key] != place or not isinstance(key, str) or type(value) not in rows.OBJECTS:
                continue
            for path in [(key,)] if self._paths is None else self._paths:
                if path[0] == key:
                    yield _Lead(place, path[1:], (*self._root, *path))

    def _numbers(self, value: Any, prefix: Path) -> tuple[tuple[Key, ...], tuple[Any, ...]]:
        """The numbers under a value, and their paths, which are always the same tuple where they are the same."""
        if type(value) not in rows.OBJECTS:
            return fields.NO_FIELDS
        keys, values = tuple(value), tuple(value.values())
        kinds = prefix, (keys, tuple(map(type, values)))
        plan = self._objects.get(kinds)
        if plan is None:
            plan = _plan_of(keys, values, prefix)
            plan = self._objects[kinds] = plan._replace(keys=self._keys.setdefault(plan.keys, plan.keys))
        if not plan.paths:
            return plan.keys, plan.take(values)
        under = map(self._numbers, plan.objects(values), plan.paths)  # Python 3.11 gives a comprehension a frame
        inner_keys, inner_values = zip(*under, strict=True)
        found = _put_in(plan.keys, plan.stops, inner_keys)
        return self._keys.setdefault(found, found), _put_in(plan.take(values), plan.stops, inner_values)


class _Lead(NamedTuple):
    """A field to look under: its place, the path from it, and what the keys of its numbers start with."""

    place: int
    path: Path
    prefix: Path


class _RowPlan(NamedTuple):
    """What to do with rows of one kind.

    Attributes:
        leads: Where to look.
        stops: Behind which fields the numbers are put.
        picked: What becomes of such rows, by the keys that were found.
    """

    leads: list[_Lead]
    stops: list[int]
    picked: dict[tuple[int, ...], _Picked]


class _Picked(NamedTuple):
    """The keys of a row with numbers put in; `take` picks their values from those of the row and of the numbers."""

    keys: tuple[Key, ...]
    take: Callable[[tuple[Any, ...]], tuple[Any, ...]]


class _ObjectPlan(NamedTuple):
    """What to take from an object: its numbers, and between them what is under its objects.

    Attributes:
        keys: The paths of its own numbers.
        take: Its own numbers.
        objects: The objects in it.
        paths: The path of each of them.
        stops: How many of its own numbers stand before each of them.
    """

    keys: tuple[Key, ...]
    take: Callable[[tuple[Any, ...]], tuple[Any, ...]]
    objects: Callable[[tuple[Any, ...]], tuple[Any, ...]]
    paths: list[Path]
    stops: list[int]


def _plan_of(keys: Iterable[str], values: tuple[Any, ...], prefix: Path) -> _ObjectPlan:
    """The plan for objects like this one; of a name that is there twice the last value counts, at its first place."""
    numbers: dict[Key, int] = {}
    objects: dict[Path, int] = {}
    stops = []
    for key, place in {key: place for place, key in enumerate(keys)}.items():
        if key.startswith(names.INTERNAL):
            continue
        if type(values[place]) in rows.NUMBERS:
            numbers[*prefix, key] = place
        elif type(values[place]) in rows.OBJECTS:
            objects[*prefix, key] = place
            stops.append(len(numbers))
    return _ObjectPlan(
        tuple(numbers), fields.take(numbers.values()), fields.take(objects.values()), list(objects), stops
    )


def _at(value: object, path: Path) -> object:
    for key in path:
        value = rows.last(value, key) if type(value) in rows.OBJECTS else None
    return value


def _picked(keys: tuple[Key, ...], stops: Iterable[int], parts: list[tuple[Key, ...]]) -> _Picked:
    places = iter(range(len(keys), len(keys) + sum(map(len, parts))))
    numbered = [tuple(next(places) for _ in part) for part in parts]
    order = _put_in(tuple(range(len(keys))), stops, numbered)
    return _Picked(_put_in(keys, stops, parts), fields.take(order))


def _put_in(whole: tuple[Any, ...], stops: Iterable[int], parts: Iterable[tuple[Any, ...]]) -> tuple[Any, ...]:
    """A tuple with each part put in before the place where it stops for it."""
    made: list[Any] = []
    start = 0
    for stop, part in zip(stops, parts, strict=True):
        made += whole[start:stop]
        made += part
        start = stop
    return (*made, *whole[start:])
