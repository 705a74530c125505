"""Rollouts become rows in the order of their lines, with a column a metric, whatever is in them."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipeline.errors import SourceError
from pipeline.frames.lazy import collect
from pipeline.frames.rollouts import scan_rollouts
from pipeline.options import ReadOptions
from pipeline.sources import readings
from pipeline.sources.files import open_source, segments
from tests.packing import PACKS, Pack
from tests.runs import Content, finished, jsonl, sources_of

INTERNAL = {
    "_ng_task_index": pl.Int64,
    "_ng_rollout_index": pl.Int64,
    "_source": pl.String,
    "_file": pl.UInt32,
    "_line": pl.Int64,
    "_offset": pl.Int64,
    "_length": pl.Int64,
    "_agent": pl.String,
    "_server": pl.String,
    "_masked": pl.Boolean,
    "_flags": pl.UInt8,
    "_unfinite": pl.UInt32,
    "_shape": pl.String,
    "_problem": pl.String,
    "_torn": pl.Boolean,
}
NAN, INFINITY = float("nan"), float("inf")


def scanned(folder: Path, *contents: Content, options: ReadOptions | None = None) -> pl.DataFrame:
    return collect(scan_rollouts(sources_of(folder, "rollouts", contents), options))


def metrics_of(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(name for name in frame.columns if not name.startswith("_"))


@pytest.mark.parametrize("contents", [[], [b""], [b"\n\n"], [b"", [finished()]], [b"no JSON\n"], [[finished(m=1)]]])
def test_internal_columns_are_always_there(contents: list[Content], tmp_path: Path) -> None:
    frame = scanned(tmp_path, *contents)
    assert {name: dtype for name, dtype in frame.schema.items() if name.startswith("_")} == INTERNAL


def test_where_a_row_came_from(tmp_path: Path) -> None:
    first = b"\xef\xbb\xbf" + jsonl([finished(0)]) + b"\n" + jsonl([finished(1)])
    frame = scanned(tmp_path, first, jsonl([finished(2)]).rstrip())
    length = len(jsonl([finished()])) - 1
    assert frame.select("_ng_task_index", "_file", "_line", "_offset", "_length").rows() == [
        (0, 0, 1, 3, length),
        (1, 0, 3, 3 + length + 2, length),
        (2, 1, 1, 0, length),
    ]
    assert frame["_source"].to_list() == [str(tmp_path / f"rollouts{file}.jsonl") for file in (0, 0, 1)]


@pytest.mark.parametrize(
    ("values", "dtype", "numbers"),
    [
        ([1, 2], pl.Int64, [1, 2]),
        ([True, False], pl.Int64, [1, 0]),
        ([True, 2, None], pl.Int64, [1, 2, None]),
        ([1, 0.5], pl.Float64, [1.0, 0.5]),
        ([True, 1.0], pl.Float64, [1.0, 1.0]),
        ([2**63 - 1, -(2**63)], pl.Int64, [2**63 - 1, -(2**63)]),
        ([2**63], pl.Float64, [2.0**63]),
        ([-(2**63) - 1, 1], pl.Float64, [-(2.0**63), 1.0]),
        ([10**300, 1], pl.Float64, [1e300, 1.0]),
        ([1, "1", None, [1], {"a": 1}, 2], pl.Int64, [1, None, None, None, None, 2]),
        ([1, NAN, INFINITY, -INFINITY, 2], pl.Float64, [1.0, None, None, None, 2.0]),
        ([-0.0, 0], pl.Float64, [-0.0, 0.0]),
        ([5e-324, 1.7976931348623157e308], pl.Float64, [5e-324, 1.7976931348623157e308]),
    ],
)
@pytest.mark.parametrize("place", ["row", "usage"])
@pytest.mark.parametrize("files", [1, 2])
def test_values_of_a_metric(
    values: list[Any], dtype: pl.DataType, numbers: list[Any], place: str, files: int, tmp_path: Path
) -> None:
    fields = [{"m": value} if place == "row" else {"usage": {"m": value}} for value in values]
    rows = [finished(task, **field) for task, field in enumerate(fields)]
    contents = [rows[:1], rows[1:]] if files == 2 else [rows]
    frame = scanned(tmp_path, *contents)
    assert frame["_problem"].null_count() == len(values)
    assert frame["m"].dtype == dtype
    assert list(map(repr, frame["m"])) == list(map(repr, numbers))


def test_numbers_that_are_none_are_counted_in_their_row(tmp_path: Path) -> None:
    rows = [finished(0, m=NAN, n=1, usage={"u": INFINITY}), finished(1, m=1), finished(2, m=-INFINITY)]
    frame = scanned(tmp_path, jsonl(rows) + b'{"_ng_task_index":3,"_ng_rollout_index":0,"m":-1e400}\n')
    assert frame["_unfinite"].to_list() == [2, 0, 1, 1]
    assert metrics_of(frame).rows() == [(1, None, None), (None, 1.0, None), (None, None, None), (None, None, None)]


@pytest.mark.parametrize(
    ("response", "reward", "flags"),
    [
        ({"usage": {}}, 1, 0),
        ({"usage": {}}, None, 0),
        ({"usage": {}}, "1", 1),
        ({"usage": {}}, [1], 1),
        ({"usage": {}}, True, 0),
        ({}, 1, 0),
        (None, 1, 0),
        ("", 1, 0),
        ("text", 1, 2),
        ([1], 1, 2),
        (7, 1, 2),
        ({"usage": None}, 1, 0),
        ({"usage": "text"}, 1, 2),
        ({"usage": [1]}, "text", 3),
    ],
)
def test_flags(response: object, reward: object, flags: int, tmp_path: Path) -> None:
    row = {"_ng_task_index": 0, "_ng_rollout_index": 0, "reward": reward, "response": response}
    frame = scanned(tmp_path, [row])
    assert frame["_problem"].to_list() == [None]
    assert frame["_flags"].to_list() == [flags]


BAD = b'{"_ng_task_index":0}\n[1]\nno JSON\n{"_ng_task_index":"x","_ng_rollout_index":0}\n'


def test_bad_lines_are_rows_that_say_why(tmp_path: Path) -> None:
    frame = scanned(tmp_path, jsonl([finished(0, m=1)]), BAD, jsonl([finished(1, m=2)]))
    bad = frame.filter(pl.col("_problem").is_not_null())
    assert bad.select("_file", "_line").rows() == [(1, 1), (1, 2), (1, 3), (1, 4)]
    for problem, says in zip(bad["_problem"], ["no _ng_rollout_index", "a list", "not JSON", "text"], strict=True):
        assert says in problem
    known = {"_source", "_file", "_line", "_offset", "_length", "_problem", "_torn", "_unfinite"}
    assert bad.drop(known).null_count().sum_horizontal().item() == len(bad) * len(bad.drop(known).columns)
    assert frame.filter(pl.col("_problem").is_null())["m"].to_list() == [1, 2]


@pytest.mark.parametrize(
    ("end", "torn"),
    [
        (b"", None),
        (b'{"_ng_task_index":1,"_ng_rollout_index":0,"m":1}', None),
        (b'{"_ng_task_index":1,"_ng_rollout_index":0,"m":1', True),
        (b'{"_ng_task_index":1,"text":"\xe5\xa4', True),
        (b"{", True),
        (b'{"_ng_task_index":1,"_ng_rollout_index":0.5}', False),
        (b'{"_ng_task_index":1,"_ng_rollout_index":0,"m":1\n', False),
        (b'{"a":1}\n', False),
    ],
)
def test_only_a_last_line_without_end_is_torn(end: bytes, torn: bool | None, tmp_path: Path) -> None:
    frame = scanned(tmp_path, jsonl([finished()]) + end).sort("_line")
    assert frame["_torn"].to_list() == ([None, torn] if torn is not None else [None] * len(frame))


def test_what_is_appended_after_the_look_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "rollouts.jsonl"
    path.write_bytes(jsonl([finished(0)]))
    source = open_source(path)
    with path.open("ab") as file:
        file.write(jsonl([finished(1)]))
    assert collect(scan_rollouts([source]))["_ng_task_index"].to_list() == [0]
    assert collect(scan_rollouts([path]))["_ng_task_index"].to_list() == [0, 1]


@pytest.mark.parametrize("segment_bytes", [40, 90, 300, 1000])
@pytest.mark.parametrize("jobs", [1, 2])
def test_ranges_and_workers_read_the_same(
    segment_bytes: int, jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [finished(task, m=task, usage={f"u{task % 3}": task / 2}, agent_ref=f"a{task % 2}") for task in range(12)]
    contents = [
        b"\xef\xbb\xbf" + jsonl(rows[:4]) + b"\n" + BAD + jsonl(rows[4:6]),
        b"\n \n",
        b"no JSON\n" + jsonl(rows[6:]).replace(b"\n", b"\r\n") + b'{"_ng_task_index":1',
    ]
    want = scanned(tmp_path, *contents, options=ReadOptions(jobs=1))
    monkeypatch.setattr(readings, "IN_PROCESS_BYTES", 0)
    monkeypatch.setattr(readings, "segments", lambda sources, **_: segments(sources, segment_bytes=segment_bytes))
    found = scanned(tmp_path, *contents, options=ReadOptions(jobs=jobs))
    order = ("_file", "_line")
    assert found.select(want.columns).sort(order).equals(want.sort(order))


@pytest.mark.parametrize("pack", PACKS.values(), ids=PACKS)
def test_compressed_files_read_the_same(pack: Pack, tmp_path: Path) -> None:
    content = jsonl([finished(task, m=task, text="a" * 100) for task in range(50)]) + b"no JSON\n"
    plain = scanned(tmp_path, content)
    packed = scanned(tmp_path, pack(content))
    assert packed.equals(plain)


@pytest.mark.parametrize("named", [str, Path, lambda path: [str(path)], lambda path: (path, open_source(path))])
def test_sources_are_named_in_any_way(named: Any, tmp_path: Path) -> None:
    path = tmp_path / "rollouts.jsonl"
    path.write_bytes(jsonl([finished(m=1)]))
    assert set(collect(scan_rollouts(named(path)))["m"]) == {1}


def test_a_file_that_is_not_there_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no such file"):
        scan_rollouts(tmp_path / "none.jsonl")


def test_progress_is_told_in_bytes(tmp_path: Path) -> None:
    told: list[int] = []
    sources = sources_of(tmp_path, "rollouts", [[finished(0)], [finished(1), finished(2)], b"no JSON"])
    collect(scan_rollouts(sources, progress=told.append))
    assert sum(told) == sum(source.size or 0 for source in sources)


PROMPTS = [
    {"input": "x"},
    {"input": "y"},
    {"input": "x", "temperature": 1},
    {"input": "x", "tools": [1]},
    {"input": "y"},
]


def test_rows_without_indices_are_numbered_by_their_prompts(tmp_path: Path) -> None:
    rows = [{"responses_create_params": prompt, "reward": 1} for prompt in PROMPTS]
    options = ReadOptions(assign_indices=True)
    frame = scanned(tmp_path, rows[:2], jsonl(rows[2:]) + b'{"reward":1}\n', options=options)
    keys = frame.filter(pl.col("_problem").is_null()).select("_ng_task_index", "_ng_rollout_index").rows()
    assert keys == [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1)]
    assert frame["_problem"].drop_nulls().to_list() == ["has no responses_create_params to tell its task by"]


def test_rows_with_and_without_indices_do_not_mix(tmp_path: Path) -> None:
    rows = [{"responses_create_params": {"input": "x"}}, finished(responses_create_params={"input": "x"})]
    frame = scanned(tmp_path, rows, options=ReadOptions(assign_indices=True))
    assert frame["_problem"].to_list() == ["has no _ng_task_index, while other rows have", None]
    frame = scanned(tmp_path, rows[1:], options=ReadOptions(assign_indices=True))
    assert frame.select("_ng_task_index", "_ng_rollout_index", "_problem").rows() == [(0, 0, None)]
