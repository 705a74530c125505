"""The numbering of tasks, replayed: as NeMo Gym does it, and as collection here does."""

import pytest

from pipeline.sources import rows
from pipeline.sources.numbering import DatasetRow, dataset_row, numbered_by_gym, numbered_past_own


def read(content: bytes) -> list[DatasetRow]:
    found = []
    for part in content.splitlines(keepends=True):
        line = part.removesuffix(b"\n")
        found.append(dataset_row(line, rows.parse(memoryview(line)), terminated=part.endswith(b"\n")))
    return found


def both(content: bytes) -> tuple[list[int], list[int]]:
    dataset = read(content)
    return list(numbered_by_gym(dataset)), list(numbered_past_own((row.own, row.text) for row in dataset))


def test_identical_rows_are_one_task() -> None:
    assert both(b'{"a":1}\n{"b":1}\n{"a":1}\n{"c":1}\n') == ([0, 1, 0, 2], [0, 1, 0, 2])


def test_a_row_keeps_its_own_index() -> None:
    content = b'{"a":1,"_ng_task_index":7}\n{"b":1}\n{"a":2,"_ng_task_index":7}\n{"_ng_task_index":-2.0}\n'
    assert both(content) == ([7, 0, 7, -2], [7, 0, 7, -2])


def test_only_here_are_the_own_indices_passed_by() -> None:
    assert both(b'{"a":1,"_ng_task_index":0}\n{"b":1}\n{"c":1,"_ng_task_index":1}\n{"d":1}\n') == (
        [0, 0, 1, 1],
        [0, 2, 1, 3],
    )


def test_white_space_tells_rows_apart_there_and_not_here() -> None:
    assert both(b'{"a":1}\n {"a":1}\n{"a":1} \n{"a":1}') == ([0, 1, 2, 3], [0, 0, 0, 0])
    assert both(b'{"a":1}\r\n{"a":1}\n') == ([0, 0], [0, 0])


@pytest.mark.parametrize("index", ["1.5", '"1"', "true", "9223372036854775808"])
def test_an_index_that_is_none(index: str) -> None:
    with pytest.raises(rows.BadLineError, match="_ng_task_index"):
        read(f'{{"_ng_task_index": {index}}}\n'.encode())


def test_the_agent_of_a_row() -> None:
    assert [row.agent for row in read(b'{"agent_ref": {"name": "x"}}\n{"agent_ref": "y"}\n{}\n')] == ["x", "y", None]
