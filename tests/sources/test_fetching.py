"""A line is fetched by its place, and looked at: it must be the line that was read there."""

import json
from pathlib import Path

import pytest

from pipeline.errors import SourceError
from pipeline.sources.fetching import Place, fetch, plain_row
from pipeline.sources.files import open_source
from pipeline.sources.lines import BYTE_ORDER_MARK
from tests.packing import ALL_PACKS
from tests.runs import finished, jsonl

ROWS = [finished(task, rollout, text="é" * (task + 1)) for task in range(3) for rollout in range(2)]


def places_in(content: bytes, *, start: int = 0) -> list[Place]:
    places, offset = [], start
    for number, line in enumerate(content[start:].splitlines(keepends=True), 1):
        row = json.loads(line)
        places.append(Place(row["_ng_task_index"], row["_ng_rollout_index"], number, offset, len(line.rstrip(b"\n"))))
        offset += len(line)
    return places


@pytest.mark.parametrize("ending", [b"\n", b""], ids=["line feed at the end", "none"])
def test_every_line_of_a_plain_file(ending: bytes, tmp_path: Path) -> None:
    content = jsonl(ROWS).removesuffix(b"\n") + ending
    (tmp_path / "run.jsonl").write_bytes(content)
    lines = fetch(open_source(tmp_path / "run.jsonl"), places_in(content))
    assert lines == content.split(b"\n")[: len(ROWS)]


@pytest.mark.parametrize("pack", ALL_PACKS)
def test_lines_of_a_compressed_file_in_any_order(pack: str, tmp_path: Path) -> None:
    content = jsonl(ROWS)
    path = tmp_path / "run.jsonl"
    path.write_bytes(ALL_PACKS[pack](content))
    places = [places_in(content)[number] for number in (4, 0, 2)]
    assert [json.loads(line) for line in fetch(open_source(path), places)] == [ROWS[4], ROWS[0], ROWS[2]]


def test_a_line_after_a_byte_order_mark(tmp_path: Path) -> None:
    content = BYTE_ORDER_MARK + jsonl(ROWS)
    (tmp_path / "run.jsonl").write_bytes(content)
    places = places_in(content, start=len(BYTE_ORDER_MARK))
    assert json.loads(fetch(open_source(tmp_path / "run.jsonl"), places)[0]) == ROWS[0]


def test_nothing_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_bytes(jsonl(ROWS))
    assert fetch(open_source(tmp_path / "run.jsonl"), []) == []


CHANGES = {
    "another line of that length": jsonl([ROWS[0], ROWS[3], ROWS[2]]),
    "shorter": jsonl([ROWS[0]]),
    "empty": b"",
    "a longer line": jsonl([ROWS[0], {**ROWS[1], "more": 1}]),
    "lines moved by one byte": b" " + jsonl(ROWS),
    "no JSON": jsonl([ROWS[0]]) + b"x" * len(json.dumps(ROWS[1])) + b"\n",
    "an index that is an object": jsonl([ROWS[0], {"_ng_task_index": {}, "_ng_rollout_index": [1], "x": "y" * 11}]),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("pack", ["plain", "gz"])
def test_a_changed_line_is_an_error(pack: str, change: str, tmp_path: Path) -> None:
    place = places_in(jsonl(ROWS))[1]
    content = CHANGES[change]
    (tmp_path / "run.jsonl").write_bytes(content if pack == "plain" else ALL_PACKS[pack](content))
    with pytest.raises(SourceError, match=r"was changed.*0:1") as raised:
        fetch(open_source(tmp_path / "run.jsonl"), [place])
    assert raised.value.where.endswith("run.jsonl:2")


def test_indices_are_whole_numbers_however_they_are_written(tmp_path: Path) -> None:
    content = b'{"_ng_task_index":1.0,"_ng_task_index":2e0,"_ng_rollout_index":3.0}\n'
    (tmp_path / "run.jsonl").write_bytes(content)
    place = Place(2, 3, 1, 0, len(content) - 1)
    assert fetch(open_source(tmp_path / "run.jsonl"), [place]) == [content[:-1]]


def test_plain_values() -> None:
    row = plain_row(b'{"a":1,"a":nan,"b":[1e400,"\\ud800"],"c":' + b"9" * 5000 + b"}")
    assert str(row["a"]) == "nan"
    assert row["b"] == [float("inf"), "\ud800"]
    assert row["c"] == 10**5000 - 1
