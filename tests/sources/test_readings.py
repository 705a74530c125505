"""A reading is of files as they were at its start: one that is written over meanwhile is refused at its end."""

import os
from pathlib import Path

import pytest

from pipeline.errors import SourceError
from pipeline.sources.files import open_source
from pipeline.sources.readings import Reading, begin
from pipeline.sources.rollouts import request_rollouts
from tests.runs import finished, jsonl

CONTENT = jsonl([finished(task, text="x" * 1000) for task in range(3000)])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "run.jsonl"
    path.write_bytes(CONTENT)
    return path


def begun(path: Path) -> Reading:
    return begin(request_rollouts([open_source(path)]), workers=2)


def rows_of(reading: Reading) -> int:
    return sum(sum(chunk.lines) for chunk in reading.chunks)


def test_a_file_that_stays(path: Path) -> None:
    assert rows_of(begun(path)) == 3000


def test_a_file_that_grows(path: Path) -> None:
    reading = begun(path)
    first = next(reading.chunks)
    with path.open("ab") as file:
        file.write(CONTENT)
    assert sum(first.lines) + rows_of(reading) == 3000


@pytest.mark.parametrize(
    "how", ["in place", "by another file", "by a larger one", "in place, larger", "cut off", "removed"]
)
def test_a_file_that_is_written_over(how: str, path: Path) -> None:
    reading = begun(path)
    next(reading.chunks)
    if how == "removed":
        path.unlink()
    elif how == "cut off":
        os.truncate(path, len(CONTENT) - 1)
    else:
        other = path if how.startswith("in place") else path.with_name("other")
        other.write_bytes((1 + ("larger" in how)) * CONTENT.replace(b"xx", b"yy"))
        other.replace(path)
    with pytest.raises(SourceError, match=r"run.jsonl: (was changed|cannot be read)"):
        rows_of(reading)
