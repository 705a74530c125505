"""Failed attempts become rows in their order."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipeline.frames.failures import scan_failures
from pipeline.frames.lazy import collect
from tests.runs import Content, jsonl, sources_of

SCHEMA = {
    "_ng_task_index": pl.Int64,
    "_ng_rollout_index": pl.Int64,
    "_source": pl.String,
    "_file": pl.UInt32,
    "_line": pl.Int64,
    "_offset": pl.Int64,
    "_length": pl.Int64,
    "_problem": pl.String,
    "_torn": pl.Boolean,
    "_failure_class": pl.String,
    "_message": pl.String,
    "_status": pl.Int64,
    "_terminal": pl.Boolean,
}


def failed(task: int, rollout: int = 0, **fields: Any) -> dict[str, Any]:
    return {"_ng_task_index": task, "_ng_rollout_index": rollout, **fields}


def scanned(folder: Path, *contents: Content) -> pl.DataFrame:
    return collect(scan_failures(sources_of(folder, "failures", contents)))


@pytest.mark.parametrize("contents", [[], [b""], [[failed(0)]], [b"no JSON\n"]])
def test_columns(contents: list[Content], tmp_path: Path) -> None:
    assert dict(scanned(tmp_path, *contents).schema) == SCHEMA


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"_ng_failure_class": "timeout", "_ng_failure_terminal": True, "message": "x"}, "timeout"),
        ({"_ng_failure_class": 500}, "500"),
        ({"_ng_failure_class": None}, None),
        ({"_ng_failure_class": ["timeout"]}, None),
        ({}, None),
    ],
)
def test_classes(fields: dict[str, Any], name: str | None, tmp_path: Path) -> None:
    assert scanned(tmp_path, [failed(0, **fields)])["_failure_class"].to_list() == [name]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"_ng_failure_message": "gone", "_ng_failure_http_status": 503}, ("gone", 503)),
        ({"_ng_failure_message": "x" * 501, "_ng_failure_http_status": None}, ("x" * 500, None)),
        ({"_ng_failure_message": "a\ud800", "_ng_failure_http_status": 10**30}, ("a\\ud800", None)),
        ({"_ng_failure_message": {"a": 1}, "_ng_failure_http_status": "503"}, (None, None)),
        ({}, (None, None)),
    ],
)
def test_what_an_attempt_says(fields: dict[str, Any], told: tuple[str | None, int | None], tmp_path: Path) -> None:
    assert scanned(tmp_path, [failed(0, **fields)]).select("_message", "_status").rows() == [told]


@pytest.mark.parametrize(("value", "terminal"), [(True, True), (1, True), (False, False), (None, False)])
def test_the_last_attempt_is_told(value: Any, terminal: bool, tmp_path: Path) -> None:
    frame = scanned(tmp_path, [failed(0, _ng_failure_terminal=value), failed(1)])
    assert frame["_terminal"].to_list() == [terminal, False]


def test_attempts_stay_in_order(tmp_path: Path) -> None:
    rows = [failed(task, _ng_failure_class=name) for task, name in ((1, "a"), (0, "b"), (1, "a"), (1, "c"))]
    frame = scanned(tmp_path, rows[:3], rows[3:])
    assert frame.select("_ng_task_index", "_failure_class", "_file", "_line").rows() == [
        (1, "a", 0, 1),
        (0, "b", 0, 2),
        (1, "a", 0, 3),
        (1, "c", 1, 1),
    ]


def test_bad_lines_are_rows_that_say_why(tmp_path: Path) -> None:
    frame = scanned(tmp_path, jsonl([failed(0)]) + b'[]\n{"_ng_task_index":0}\n{"_ng_task')
    assert frame["_torn"].to_list() == [None, False, False, True]
    assert frame["_problem"].is_not_null().to_list() == [False, True, True, True]
