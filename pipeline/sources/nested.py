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
        self._steps: dict[Kinds, _Steps] = {}
        self._plans: dict[tuple[Path, Kinds], _Plan] = {}
        self._keys: dict[tuple[Key, ...], tuple[Key, ...]] = {}

    def __call__(self, of: Fields) -> Fields:
        """The fields of a row with the numbers."""
        keys, values = of
        kinds = keys, tuple(map(type, values))
        steps = self._steps.get(kinds)
        if steps is None:
            leads = list(self._leads_of(of))
            steps = self._steps[kinds] = _Steps(leads, [lead.place + 1 for lead in leads], {})
        if not steps.leads:
            return of
        parts = [self._numbers(_at(values[place], path), prefix) for place, path, prefix in steps.leads]
        which = tuple([id(part[0]) for part in parts])
        merged = steps.merged.get(which)
        if merged is None:
            merged = steps.merged[which] = _merged(keys, steps.stops, [part[0] for part in parts])
        for part in parts:
            values += part[1]
        return merged.keys, merged.take(values)

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
        plan = self._plans.get(kinds)
        if plan is None:
            plan = _plan_of(keys, values, prefix)
            plan = self._plans[kinds] = plan._replace(keys=self._keys.setdefault(plan.keys, plan.keys))
        if not plan.deeper:
            return plan.keys, plan.take(values)
        under = [self._numbers(values[place], path) for _, place, path in plan.deeper]
        stops = [stop for stop, _, _ in plan.deeper]
        inner_keys, inner_values = zip(*under, strict=True)
        found = _put_in(plan.keys, stops, inner_keys)
        return self._keys.setdefault(found, found), _put_in(plan.take(values), stops, inner_values)


class _Lead(NamedTuple):
    """A field to look under: its place, the path from it, and what the keys of its numbers start with."""

    place: int
    path: Path
    prefix: Path


class _Steps(NamedTuple):
    """What to do with rows of one kind.

    Attributes:
        leads: Where to look.
        stops: Behind which fields the numbers are put.
        merged: What becomes of such rows, by the keys that were found.
    """

    leads: list[_Lead]
    stops: list[int]
    merged: dict[tuple[int, ...], _Merged]


class _Merged(NamedTuple):
    """The keys of a row with numbers put in; `take` picks their values from those of the row and of the numbers."""

    keys: tuple[Key, ...]
    take: Callable[[tuple[Any, ...]], tuple[Any, ...]]


class _Plan(NamedTuple):
    """What to take from an object: its numbers, and between them what is under its objects.

    Attributes:
        keys: The paths of its own numbers.
        take: Its own numbers.
        deeper: For each object in it how many of its numbers stand before it, its place, and its path.
    """

    keys: tuple[Key, ...]
    take: Callable[[tuple[Any, ...]], tuple[Any, ...]]
    deeper: list[tuple[int, int, Path]]


def _plan_of(keys: Iterable[str], values: tuple[Any, ...], prefix: Path) -> _Plan:
    """The plan for objects like this one; of a name that is there twice the last value counts, at its first place."""
    numbers: dict[Key, int] = {}
    deeper = []
    for key, place in {key: place for place, key in enumerate(keys)}.items():
        if key.startswith(names.INTERNAL):
            continue
        if type(values[place]) in rows.NUMBERS:
            numbers[*prefix, key] = place
        elif type(values[place]) in rows.OBJECTS:
            deeper.append((len(numbers), place, (*prefix, key)))
    return _Plan(tuple(numbers), fields.take(numbers.values()), deeper)


def _at(value: object, path: Path) -> object:
    for key in path:
        value = rows.last(value, key) if type(value) in rows.OBJECTS else None
    return value


def _merged(keys: tuple[Key, ...], stops: Iterable[int], parts: list[tuple[Key, ...]]) -> _Merged:
    places = iter(range(len(keys), len(keys) + sum(map(len, parts))))
    numbered = [tuple(next(places) for _ in part) for part in parts]
    order = _put_in(tuple(range(len(keys))), stops, numbered)
    return _Merged(_put_in(keys, stops, parts), fields.take(order))


def _put_in(whole: tuple[Any, ...], stops: Iterable[int], parts: Iterable[tuple[Any, ...]]) -> tuple[Any, ...]:
    """A tuple with each part put in before the place where it stops for it."""
    made: list[Any] = []
    start = 0
    for stop, part in zip(stops, parts, strict=True):
        made += whole[start:stop]
        made += part
        start = stop
    return (*made, *whole[start:])
