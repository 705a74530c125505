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


def values_of(column: Column, height: int) -> list[Any]:
    """A column as Python numbers, None for rows without one."""
    numbers = array(column.typecode, column.values)
    if column.rows is None:
        return list(numbers)
    placed: list[Any] = [None] * height
    for row, number in zip(array("i", column.rows), numbers, strict=True):
        placed[row] = number
    return placed


def read(rows: list[dict[str, Any]]) -> Chunk:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rollouts.jsonl"
        path.write_bytes(jsonl(rows))
        return read_rollouts(Job((open_source(path).whole(),)))


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


def test_no_rows() -> None:
    assert columns([], 0) == {}
