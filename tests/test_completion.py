"""How much of what was planned is there, and what became of the rest."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipeline.completion import accounting
from pipeline.frames.failures import scan_failures
from pipeline.frames.lazy import collect
from pipeline.options import ProfileOptions
from tests.runs import Content, Row, align_files, finished, jsonl, planned, sources_of

PLAN = [planned(task, rollout) for task in range(3) for rollout in range(2)]
ALL = [finished(row["_ng_task_index"], row["_ng_rollout_index"], reward=1) for row in PLAN]
NAMES = (
    "expected_rollout_rows",
    "completed_rollout_rows",
    "missing_rollout_rows",
    "total_input_rows",
    "complete_input_rows",
    "partial_input_rows",
    "missing_input_rows",
    "masked_rollout_rows",
    "measured_rollout_rows",
    "unscored_rollout_rows",
)
MASKED = finished(0, 0, mask_sample=True)


def counted(
    folder: Path, inputs: Content, rollouts: Content, options: ProfileOptions | None = None
) -> dict[str, int | float]:
    return align_files(folder, [inputs], [rollouts], options or ProfileOptions(partial=True)).completion.counts


@pytest.mark.parametrize(
    ("rollouts", "counts", "percent"),
    [
        (ALL, (6, 6, 0, 3, 3, 0, 0, 0, 6, 0), 100.0),
        (ALL[:3], (6, 3, 3, 3, 1, 1, 1, 0, 3, 0), 50.0),
        (ALL[:1], (6, 1, 5, 3, 0, 1, 2, 0, 1, 0), 100 / 6),
        ([], (6, 0, 6, 3, 0, 0, 3, 0, 0, 0), 0.0),
        ([*ALL, finished(9)], (6, 6, 0, 3, 3, 0, 0, 0, 6, 0), 100.0),
        ([*ALL, ALL[0]], (6, 6, 0, 3, 3, 0, 0, 0, 6, 0), 100.0),
        ([MASKED, *ALL[1:]], (6, 6, 0, 3, 3, 0, 0, 1, 5, 0), 100.0),
        ([finished(), *ALL[1:3]], (6, 3, 3, 3, 1, 1, 1, 0, 3, 1), 50.0),
        ([finished(m=1), finished(0, 1, reward="1")], (6, 2, 4, 3, 1, 0, 2, 0, 2, 2), 100 / 3),
        ([finished(reward=float("nan"))], (6, 1, 5, 3, 0, 1, 2, 0, 1, 1), 100 / 6),
    ],
)
def test_counts(rollouts: list[Row], counts: tuple[int, ...], percent: float, tmp_path: Path) -> None:
    found = counted(tmp_path, PLAN, jsonl(rollouts))
    assert tuple(found[name] for name in NAMES) == counts
    assert found["reward_profile_completion_pct"] == pytest.approx(percent)
    assert set(found) == {*NAMES, "reward_profile_completion_pct"}


def test_masked_rollouts_are_measured_where_that_is_asked_for(tmp_path: Path) -> None:
    found = counted(tmp_path, PLAN, [MASKED, *ALL[1:]], ProfileOptions(masked="include"))
    assert (found["masked_rollout_rows"], found["measured_rollout_rows"], found["unscored_rollout_rows"]) == (1, 6, 1)


def test_nothing_planned_is_all_done(tmp_path: Path) -> None:
    found = counted(tmp_path, b"", b"")
    assert found["reward_profile_completion_pct"] == 100.0
    assert {found[name] for name in NAMES} == {0}


def test_a_task_counts_once_for_each_agent_that_ran_it(tmp_path: Path) -> None:
    inputs = [planned(0, 0, "a"), planned(0, 1, "b"), planned(0, 2, "b"), planned(1, 0, "a")]
    rollouts = [finished(0, 0), finished(0, 1), finished(1, 0)]
    found = counted(tmp_path, inputs, rollouts)
    assert tuple(found[name] for name in NAMES[3:7]) == (3, 2, 1, 0)


def failed(task: int, rollout: int, name: Any = None) -> Row:
    about = {} if name is None else {"_ng_failure_class": name}
    return {"_ng_task_index": task, "_ng_rollout_index": rollout, **about}


@pytest.mark.parametrize(
    ("failures", "fates"),
    [
        ([], {"unknown": 3}),
        ([failed(1, 1, "timeout")], {"unknown": 2, "timeout": 1}),
        ([failed(1, 1, "timeout"), failed(1, 1, "crash")], {"unknown": 2, "crash": 1}),
        ([failed(1, 1, "crash"), failed(1, 1)], {"unknown": 2, "unnamed": 1}),
        ([failed(0, 0, "timeout")], {"unknown": 3}),
        ([failed(9, 9, "timeout")], {"unknown": 3}),
        ([failed(1, 1, "a"), failed(2, 0, "b"), failed(2, 1, "b")], {"b": 2, "a": 1}),
        ([failed(1, 1, "a"), failed(2, 0, "b"), failed(2, 1, "c")], {"a": 1, "b": 1, "c": 1}),
    ],
)
@pytest.mark.parametrize("files", [1, 2])
def test_fates_are_those_of_the_last_attempts(
    failures: list[Row], fates: dict[str, int], files: int, tmp_path: Path
) -> None:
    frame = align_files(tmp_path, [PLAN], [ALL[:3]], ProfileOptions(partial=True)).frame
    contents = [failures] if files == 1 else [failures[:1], failures[1:]]
    found = collect(accounting(frame, scan_failures(sources_of(tmp_path, "failures", contents))))
    assert list(found.rows()) == list(fates.items())
    assert found["rollouts"].dtype == pl.UInt32


def test_lines_that_cannot_be_used_are_no_attempts(tmp_path: Path) -> None:
    frame = align_files(tmp_path, [PLAN], [ALL[:5]], ProfileOptions(partial=True)).frame
    content = jsonl([failed(2, 1, "timeout")]) + b'{"_ng_task_index":2,"_ng_failure_class":"crash"}\n'
    found = collect(accounting(frame, scan_failures(sources_of(tmp_path, "failures", [content]))))
    assert found.rows() == [("timeout", 1)]
