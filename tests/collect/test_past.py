"""What the files of a collection say of its rollouts."""

from pathlib import Path
from typing import Any

import pytest

from pipeline.collect.past import Past, check_past, read_past
from pipeline.collect.plans import Slot
from pipeline.errors import FaultsError, UsageError
from tests.runs import jsonl


def line(task: int, **fields: Any) -> dict[str, Any]:
    return {"_ng_task_index": task, "_ng_rollout_index": 0, **fields}


def past_of(folder: Path, rollouts: list[dict[str, Any]] | None, failures: list[dict[str, Any]] | None) -> Past:
    paths = folder / "r.jsonl", folder / "r_failures.jsonl"
    for path, rows in zip(paths, (rollouts, failures), strict=True):
        if rows is not None:
            path.write_bytes(jsonl(rows))
    return read_past(*paths)


def test_nothing_is_there(tmp_path: Path) -> None:
    past = past_of(tmp_path, None, None)
    assert (past.finished, past.attempts, past.classes, past.terminal) == (set(), {}, {}, set())
    assert not past.is_over((0, 0), 1)


def test_failures_are_counted_and_the_last_one_names_the_class(tmp_path: Path) -> None:
    failures = [
        line(1, _ng_failure_class="timeout_exceeded"),
        line(2, _ng_failure_class="bad_request", _ng_failure_terminal=True),
        line(1, _ng_failure_class="agent_run_error"),
        line(3),
    ]
    past = past_of(tmp_path, [line(0, reward=1)], failures)
    assert past.finished == {(0, 0)}
    assert past.attempts == {(1, 0): 2, (2, 0): 1, (3, 0): 1}
    assert past.classes == {(1, 0): "agent_run_error", (2, 0): "bad_request", (3, 0): "unnamed"}
    assert [past.is_over((task, 0), 2) for task in range(5)] == [True, True, True, False, False]
    assert [past.is_over((task, 0), 3) for task in range(5)] == [True, False, True, False, False]


def test_rollouts_that_nobody_planned(tmp_path: Path) -> None:
    past = past_of(tmp_path, [line(task, reward=1) for task in range(12)], None)
    slots = [Slot((task, 0), "a", (), 0, 0) for task in range(12)]
    check_past(past, slots, tmp_path / "r.jsonl")
    with pytest.raises(UsageError, match=r"do not plan: 0:0, 1:0, 2:0, .* 9:0 and 1 more\n"):
        check_past(past, slots[11:], tmp_path / "r.jsonl")


def test_a_key_may_finish_once(tmp_path: Path) -> None:
    with pytest.raises(FaultsError, match="2 rollouts share their key with another") as found:
        past_of(tmp_path, [line(task, reward=1) for task in (5, 6, 5)], None)
    refused = found.value
    assert (refused.exit_code, refused.counts) == (4, {"duplicate_rollouts": 2})
    assert refused.keys == {"duplicate_rollouts": [(5, 0)]}
    assert refused.message.endswith(f"r.jsonl:1 (task 5, rollout 0)\n  {tmp_path / 'r.jsonl'}:3 (task 5, rollout 0)")
    with pytest.raises(FaultsError, match=r"14 rollouts share their key .*\n(.*\n){10}  and 4 more"):
        past_of(tmp_path, [line(task % 3, reward=1) for task in range(14)], None)
