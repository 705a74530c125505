"""Rows that cannot be planned are named, all of them at once."""

import gzip
import json
import os
from pathlib import Path

import pytest

from pipeline.collect.datasets import ranges, read_dataset
from pipeline.collect.options import PlanOptions
from pipeline.errors import FaultsError, SourceError
from tests.collect.datasets import row, write_dataset

GOOD = json.dumps(row())
BAD = {
    "not json": "is not JSON",
    "[1]": "holds a list, not an object",
    "null": "holds null, not an object",
    json.dumps({"agent_ref": {"name": "a"}}): "has no responses_create_params.input",
    json.dumps(row() | {"responses_create_params": {"temperature": 1}}): "has no responses_create_params.input",
    json.dumps(row() | {"responses_create_params": "x"}): "has no responses_create_params.input",
    json.dumps(row() | {"responses_create_params": {"input": None}}): "has no responses_create_params.input",
    json.dumps(row() | {"responses_create_params": {"input": 3}}): "has a number as responses_create_params.input",
    json.dumps(row() | {"responses_create_params": {"input": {}}}): "has an object as responses_create_params.input",
    json.dumps(row(agent=None, agent_ref=3)): "names its agent by a number",
    json.dumps(row(agent=None, agent_ref=[])): "names its agent by a list",
    json.dumps(row(agent=None, agent_ref={"name": 5})): "names its agent by a number",
    json.dumps(row(agent=None)): "names no agent (--agent NAME is for such rows)",
    json.dumps(row(agent=None, agent_ref={"type": "x"})): "names no agent",
    json.dumps(row(_ng_task_index=1.5)): "_ng_task_index is 1.5, not a whole number",
    json.dumps(row(_ng_task_index="1")): "_ng_task_index is text, not a whole number",
    json.dumps(row(score=float("nan"))): "holds NaN or Infinity",
    json.dumps(row(agent="\ud800")): "lone surrogate",
    '{"a":' * 3000 + "1" + "}" * 3000: "deep",
}


def refusal(folder: Path, lines: list[str], options: PlanOptions | None = None) -> FaultsError:
    path = write_dataset(folder, "\n".join(lines).encode())
    with pytest.raises(FaultsError) as raised:
        read_dataset(path, options or PlanOptions())
    return raised.value


@pytest.mark.parametrize("line", BAD, ids=lambda line: line[:40])
def test_a_bad_row_is_named_with_its_line(line: str, tmp_path: Path) -> None:
    error = refusal(tmp_path, [GOOD, "", line, GOOD])
    assert f"{tmp_path / 'data.jsonl'}:3 " in error.message
    assert BAD[line] in error.message
    assert (error.exit_code, error.counts) == (3, {"malformed": 1})


def test_all_of_them_are_named_at_once(tmp_path: Path) -> None:
    error = refusal(tmp_path, [GOOD, *["x"] * 10, GOOD, "x", "x", GOOD, "x"])
    assert error.message.startswith("13 rows cannot be collected:\n")
    assert error.message.count(" is not JSON") == 10
    assert error.message.endswith("and lines 13-14, 16")
    assert len(error.places["malformed"]) == 13


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"metadata": "x"}, "has text as metadata"),
        ({"metadata": {"extra_body": {"seed": 1}}}, "no JSON object as text"),
        ({"metadata": {"extra_body": "[1]"}}, "no JSON object as text"),
        ({"metadata": {"extra_body": "{"}}, "no JSON object as text"),
    ],
)
def test_what_a_seed_cannot_be_added_to(params: dict[str, object], reason: str, tmp_path: Path) -> None:
    line = json.dumps(row() | {"responses_create_params": {"input": [], **params}})
    assert reason in refusal(tmp_path, [line], PlanOptions(add_seed=True)).message
    path = write_dataset(tmp_path, line.encode())
    assert len(read_dataset(path, PlanOptions())) == 1


def test_an_agent_whose_repeats_are_not_said(tmp_path: Path) -> None:
    error = refusal(tmp_path, [GOOD, json.dumps(row(agent="b"))], PlanOptions(repeats={"a": 2}))
    assert ":2 is for b, whose repeats --num-repeats does not say" in error.message


def test_no_rows(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="holds no rows"):
        read_dataset(write_dataset(tmp_path, b"\n \n"), PlanOptions())


def test_a_limit_takes_the_first_rows(tmp_path: Path) -> None:
    path = write_dataset(tmp_path, f"{GOOD}\n\n{GOOD}\nnot json\n".encode())
    assert len(read_dataset(path, PlanOptions(limit=2))) == 2
    with pytest.raises(FaultsError):
        read_dataset(path, PlanOptions(limit=3))


def test_a_compressed_dataset_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + GOOD.encode()))
    (found,) = read_dataset(path, PlanOptions())
    assert found.text == GOOD.encode()


def test_the_agent_of_a_row(tmp_path: Path) -> None:
    path = write_dataset(tmp_path, [row(agent="own"), row(agent=None), row(agent=None, agent_ref="text")])
    found = read_dataset(path, PlanOptions(agent="given"))
    assert [(one.agent, one.names_agent) for one in found] == [("own", True), ("given", False), ("text", True)]


@pytest.mark.parametrize("place", ["fifo", "-", "/dev/null", ""])
def test_a_dataset_is_a_file(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("fifo")
    with pytest.raises(SourceError, match="a dataset has to be a file"):
        read_dataset(Path(place), PlanOptions())


@pytest.mark.parametrize(("numbers", "text"), [([], ""), ([3], "3"), ([3, 4, 7, 8, 9], "3-4, 7-9"), ([1, 3], "1, 3")])
def test_ranges(numbers: list[int], text: str) -> None:
    assert ranges(numbers) == text
