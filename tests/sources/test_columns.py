"""Numbers of rows → columns: every one at its row, exact where whole numbers of 64 bits can hold it."""

import math
from array import array
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pipeline.sources.columns import DOUBLE, WHOLE, Block, Column, columns
from pipeline.sources.files import open_source
from pipeline.sources.reading import Chunk, Job
from pipeline.sources.rollouts import read_rollouts
from tests.runs import finished, jsonl

A, B = ("row", "a"), ("row", "b")
NUMBERS = st.one_of(
    st.booleans(),
    st.integers(-3, 3),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(2**63, 2**70),
    st.just(10**400),
    st.floats(allow_nan=False, allow_infinity=False),
)
METRICS = st.dictionaries(st.sampled_from(["a", "b", "c"]), NUMBERS)


METRICS_UNDER = st.dictionaries(st.sampled_from(["b", "b/c", "c"]), st.one_of(st.integers(0, 9), METRICS), max_size=3)


def values_of(column: Column, height: int) -> list[Any]:
    """A column as Python numbers, None for rows without one."""
    numbers = array(column.typecode, column.values)
    if column.rows is None:
        return list(numbers)
    placed: list[Any] = [None] * height
    for row, number in zip(array("i", column.rows), numbers, strict=True):
        placed[row] = number
    return placed


def read(rows: list[dict[str, Any]], nested: tuple[tuple[str, ...], ...] = ()) -> Chunk:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rollouts.jsonl"
        path.write_bytes(jsonl(rows))
        return read_rollouts(Job((open_source(path).whole(),), nested=nested))


def as_column(values: list[Any]) -> list[Any]:
    """The values as a column of one type has them."""
    there = [value for value in values if value is not None]
    if not any(type(value) is float or (abs(value) >= 2**63 and value != -(2**63)) for value in there):
        return values
    return [None if value is None else as_double(value) for value in values]


def as_double(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


@given(st.lists(METRICS, max_size=8))
def test_every_number_is_at_its_row(rows: list[dict[str, Any]]) -> None:
    chunk = read([finished(number, 0, **row) for number, row in enumerate(rows)])
    for name in {name for row in rows for name in row}:
        got = values_of(chunk.metrics["row", name], len(rows))
        want = as_column([row.get(name) for row in rows])
        assert got == want
        assert [type(value) for value in got] == [int if type(value) is bool else type(value) for value in want]


@given(st.lists(METRICS, min_size=1, max_size=8))
def test_usage_is_packed_like_fields_of_the_row(rows: list[dict[str, Any]]) -> None:
    chunk = read([finished(number, 0, usage=row) for number, row in enumerate(rows)])
    same = read([finished(number, 0, **row) for number, row in enumerate(rows)])
    assert {name: column for (_, name), column in chunk.metrics.items()} == {
        name: column for (_, name), column in same.metrics.items()
    }


@given(st.lists(METRICS_UNDER, max_size=6))
def test_paths_that_are_written_alike_are_one_metric(rows: list[dict[str, Any]]) -> None:
    chunk = read([finished(number, 0, a=row) for number, row in enumerate(rows)], nested=(("a",),))
    for (_, name), column in chunk.metrics.items():
        there = [_numbers_at(row, name.removeprefix("a/")) for row in rows]
        want = as_column([values[-1] if values else None for values in there])
        assert values_of(column, len(rows)) == want


def _numbers_at(row: dict[str, Any], name: str) -> list[Any]:
    """The numbers under a row whose path is written like this, in its order."""
    flat: list[tuple[str, Any]] = []
    for key, value in row.items():
        flat += [(key, value)] if type(value) is int else [(f"{key}/{inner}", one) for inner, one in value.items()]
    return [value for path, value in flat if path == name]


def test_rows_of_one_kind_need_no_places() -> None:
    block = Block((A, B), WHOLE + DOUBLE)
    for number in range(3):
        block.rows.append(number)
        block.cells += block.pack(number, number / 2)
    made = columns([block], 3)
    assert list(made) == [A, B]
    assert [column.rows for column in made.values()] == [None, None]
    assert [values_of(column, 3) for column in made.values()] == [[0, 1, 2], [0.0, 0.5, 1.0]]


def test_places_that_metrics_share_are_there_once() -> None:
    first, second = Block((A, B), WHOLE * 2), Block((A, B), DOUBLE * 2)
    for number, block in enumerate((first, second, first)):
        block.rows.append(number)
        block.cells += block.pack(number, number)
    made = columns([first, second], 3)
    assert made[A].rows is made[B].rows
    assert values_of(made[A], 3) == [0.0, 1.0, 2.0]


def test_a_metric_that_a_block_has_twice_is_its_last_and_leaves_gaps() -> None:
    block = Block((A, A), WHOLE * 2)
    for row in (0, 1):
        block.rows.append(row)
        block.cells += block.pack(5, 7)
    assert values_of(columns([block], 4)[A], 4) == [7, 7, None, None]
    assert len(array("i", columns([block], 4)[A].rows or b"")) == 2


def test_no_rows() -> None:
    assert columns([], 0) == {}
