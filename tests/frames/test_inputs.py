"""Planned rollouts become rows; a row that several files share is kept once."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipeline.frames.inputs import inputs_of_rollouts, scan_inputs
from pipeline.frames.lazy import collect
from pipeline.frames.rollouts import scan_rollouts
from tests.runs import Content, finished, jsonl, planned, sources_of

SCHEMA = {
    "_ng_task_index": pl.Int64,
    "_ng_rollout_index": pl.Int64,
    "_source": pl.String,
    "_file": pl.UInt32,
    "_line": pl.Int64,
    "_offset": pl.Int64,
    "_length": pl.Int64,
    "_agent": pl.String,
    "_server": pl.String,
    "_problem": pl.String,
    "_torn": pl.Boolean,
}


def scanned(folder: Path, *contents: Content) -> pl.DataFrame:
    return collect(scan_inputs(sources_of(folder, "inputs", contents)))


@pytest.mark.parametrize(
    "contents", [[], [b""], [[planned()]], [[planned()], [planned(1)]], [b"no JSON\n"], [b"{", b""]]
)
def test_columns(contents: list[Content], tmp_path: Path) -> None:
    assert dict(scanned(tmp_path, *contents).schema) == SCHEMA


@pytest.mark.parametrize(
    ("fields", "agent", "server"),
    [
        ({"agent_ref": {"name": "a"}}, "a", None),
        ({"agent_ref": "a", "_ng_environment_server": "s"}, "a", "s"),
        ({"_ng_environment_server": "s"}, None, "s"),
        ({"_ng_environment_server": ""}, None, None),
        ({"_ng_environment_server": 7}, None, "7"),
        ({"_ng_environment_server": {"name": "s"}}, None, None),
        ({"_ng_environment_server": None, "agent_ref": None}, None, None),
        ({}, None, None),
    ],
)
def test_agents_and_servers(fields: dict[str, Any], agent: str | None, server: str | None, tmp_path: Path) -> None:
    frame = scanned(tmp_path, [planned(agent=None, **fields)])
    assert frame.select("_agent", "_server").rows() == [(agent, server)]


A, B, C = planned(x="a"), planned(x="b"), planned(1, x="c")
SPACED = jsonl([A]).replace(b'"x"', b' "x"')


@pytest.mark.parametrize(
    ("contents", "kept"),
    [
        ([[A, C]], [(0, 1), (0, 2)]),
        ([[A, A]], [(0, 1), (0, 2)]),
        ([[A], [A]], [(0, 1)]),
        ([[A], [A, A]], [(1, 1), (1, 2)]),
        ([[A, A], [A]], [(0, 1), (0, 2)]),
        ([[A], [A], [A, A]], [(2, 1), (2, 2)]),
        ([[A, C], [C, A], [A, C]], [(0, 1), (0, 2)]),
        ([[A], [B]], [(0, 1), (1, 1)]),
        ([[A, B], [C]], [(0, 1), (0, 2), (1, 1)]),
        ([[A], SPACED], [(0, 1), (1, 1)]),
        ([[A], jsonl([A]).rstrip()], [(0, 1)]),
        ([[A], jsonl([A]).replace(b"\n", b"\r\n")], [(0, 1)]),
        ([b"no JSON\n", b"no JSON\n"], [(0, 1), (1, 1)]),
        ([b"", [A], b"\n" + jsonl([A, C])], [(1, 1), (2, 3)]),
    ],
)
def test_a_row_of_several_files_is_kept_once(
    contents: list[Content], kept: list[tuple[int, int]], tmp_path: Path
) -> None:
    assert scanned(tmp_path, *contents).select("_file", "_line").rows() == kept


def test_bad_lines_are_rows_that_say_why(tmp_path: Path) -> None:
    frame = scanned(tmp_path, jsonl([planned()]) + b'{"_ng_task_index":null,"_ng_rollout_index":0}\n{"_ng')
    assert frame["_torn"].to_list() == [None, False, True]
    assert [problem and problem[:21] for problem in frame["_problem"]] == [
        None,
        "_ng_task_index is nul",
        "is cut off in the mid",
    ]


def test_rollouts_plan_themselves_where_there_are_no_inputs(tmp_path: Path) -> None:
    rows = [finished(1, agent_ref="a"), finished(0, _ng_environment_server="s", m=1), finished(1, m=2)]
    sources = sources_of(tmp_path, "rollouts", [jsonl(rows) + b"no JSON\n"])
    frame = collect(inputs_of_rollouts(scan_rollouts(sources)))
    assert dict(frame.schema) == SCHEMA
    keys = frame.sort("_ng_task_index").select("_ng_task_index", "_line", "_agent", "_server").rows()
    assert keys == [(0, 2, None, "s"), (1, 1, "a", None)]
