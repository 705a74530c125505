"""Numbers under nested objects: where they stand, whatever came before, and names that are there twice."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.sources import rows
from pipeline.sources.nested import Nested

NAMES = st.sampled_from(["a", "b", "_c"])
LEAVES = st.one_of(st.integers(-2, 2), st.floats(0, 1), st.booleans(), st.none(), st.just("text"), st.just([1]))
Pairs = list[tuple[str, Any]]
OBJECTS = st.recursive(
    st.lists(st.tuples(NAMES, LEAVES), max_size=4),
    lambda inner: st.lists(st.tuples(NAMES, st.one_of(LEAVES, inner.map(tuple))), max_size=4),
    max_leaves=12,
)
PATHS = st.lists(st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=3).map(tuple), max_size=3)


def text_of(value: Any) -> str:
    """JSON text; a tuple of pairs is an object, which may have a name twice."""
    if type(value) is tuple:
        return "{" + ",".join(f"{json.dumps(name)}:{text_of(inner)}" for name, inner in value) + "}"
    return json.dumps(value)


def fields_of(pairs: Pairs) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    row = rows.parse(memoryview(text_of(tuple(pairs)).encode()))
    return tuple(row), tuple(row.values())


def numbers_under(value: Any, path: tuple[str, ...]) -> Iterator[tuple[Any, Any]]:
    if type(value) is not tuple:
        return
    for name, inner in dict(value).items():
        if name.startswith("_"):
            continue
        if type(inner) in {int, float, bool}:
            yield (*path, name), inner
        else:
            yield from numbers_under(inner, (*path, name))


def expected(pairs: Pairs, paths: list[tuple[str, ...]] | None, root: tuple[str, ...] = ()) -> list[tuple[Any, Any]]:
    """The fields one after another, the plain way."""
    made: list[tuple[Any, Any]] = []
    for place, (name, value) in enumerate(pairs):
        made.append((name, value))
        if name in [later for later, _ in pairs[place + 1 :]] or type(value) is not tuple:
            continue
        for path in [(name,)] if paths is None else list(dict.fromkeys(paths)):
            if path[0] == name:
                at: Any = value
                for key in path[1:]:
                    at = dict(at).get(key) if type(at) is tuple else None
                made += numbers_under(at, (*root, *path))
    return made


def seen(fields: tuple[tuple[Any, ...], tuple[Any, ...]]) -> list[tuple[Any, Any]]:
    return [(key, repr(value)) for key, value in zip(*fields, strict=True) if type(value) in rows.NUMBERS]


def wanted(fields: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    return [(key, repr(value)) for key, value in fields if type(value) in rows.NUMBERS]


@given(st.lists(OBJECTS, min_size=1, max_size=6), PATHS)
def test_numbers_stand_behind_their_objects(objects: list[Pairs], paths: list[tuple[str, ...]]) -> None:
    nested = Nested(paths)
    for pairs in [*objects, *objects]:
        assert seen(nested(fields_of(pairs))) == wanted(expected(pairs, paths))


@given(st.lists(OBJECTS, min_size=1, max_size=6))
def test_every_object_is_looked_under_without_paths(objects: list[Pairs]) -> None:
    nested = Nested(None, ("usage",))
    for pairs in [*objects, *objects]:
        assert seen(nested(fields_of(pairs))) == wanted(expected(pairs, None, ("usage",)))


def test_fields_without_objects_are_left_as_they_are() -> None:
    of = fields_of([("a", 1), ("b", "text")])
    assert Nested([("b",)])(of) is of


def test_as_deep_as_the_stack_is() -> None:
    row = rows.parse(memoryview(b'{"a":' * 700 + b"1" + b"}" * 700))
    assert [value for _, value in seen(Nested(None)((tuple(row), tuple(row.values()))))] == ["1"]


@pytest.mark.parametrize("order", [[("a", "b"), ("a", "c")], [("a", "c"), ("a", "b")]])
def test_paths_into_one_object_come_in_the_order_they_were_asked_for(order: list[tuple[str, ...]]) -> None:
    pairs = [("a", (("b", (("x", 1),)), ("c", (("y", 2),))))]
    assert [key for key, _ in seen(Nested(order)(fields_of(pairs)))] == [
        (*path, "x" if path[1] == "b" else "y") for path in order
    ]
