"""The fields of an object → which of them are metrics."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Any

from pipeline import names
from pipeline.sources import rows

Key = str | tuple[str, ...]
"""A key of an object, or the path of a number under it."""
Fields = tuple[tuple[Key, ...], tuple[Any, ...]]
"""Keys and values of a JSON object in its order; a key can be there twice."""
NO_FIELDS: Fields = ((), ())
Kinds = tuple[tuple[Key, ...], tuple[type, ...]]
"""The keys of an object and the types of its values."""


def metric_places(of: Fields, only: frozenset[str] | None = None) -> dict[Key, int]:
    """Name → place of each number that is a metric: the last field of a name counts, in the order of the first.

    Args:
        of: The fields of an object.
        only: The names wanted; None for all.
    """
    keys, values = of
    final = {key: place for place, key in enumerate(keys)}
    return {
        key: place
        for key, place in final.items()
        if type(values[place]) in rows.NUMBERS
        and key[:1] != names.INTERNAL
        and key not in names.NOT_METRICS
        and (only is None or (key if isinstance(key, str) else "/".join(key)) in only)
    }


def check_names(metrics: Iterable[Key]) -> None:
    """Refuses a metric whose name cannot be written.

    Raises:
        rows.BadLineError: A name has a lone surrogate.
    """
    for key in metrics:
        name = key if isinstance(key, str) else "/".join(key)
        if not rows.encodable(name):
            raise rows.BadLineError(f"the field name {name!a} has a lone surrogate")


def take(places: Iterable[int]) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """A function that picks these places of a tuple."""
    wanted = tuple(places)
    if len(wanted) > 1:
        return itemgetter(*wanted)
    if not wanted:
        return lambda _values: ()
    only = wanted[0]
    return lambda values: (values[only],)


def canonical(value: Any, keys: tuple[str, ...]) -> bytes:
    """Canonical JSON text of some fields of an object, for telling equal content."""
    content = {key: plain(rows.last(value, key)) for key in keys}
    return json.dumps(content, sort_keys=True).encode()


def plain(value: Any) -> Any:
    """A JSON value as Python's own lists, dictionaries and scalars."""
    if isinstance(value, rows.OBJECTS):
        return value if isinstance(value, dict) else value.as_dict()
    if isinstance(value, rows.LISTS):
        return value if isinstance(value, list) else value.as_list()
    return value
