"""What each task of a run still needs, by hand."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipeline.analysis.bands import Span
from pipeline.analysis.budget import within_budget
from pipeline.analysis.new_repeats import new_repeats
from pipeline.analysis.repeats_needed import Target
from pipeline.analysis.scoring import PassRule
from pipeline.analysis.topping_up import topup_plan
from pipeline.frames.lazy import collect
from pipeline.run import Run
from tests.queries.asking import opened, rollout
from tests.runs import Row, planned

TARGET = Target(band=Span(0.2, 0.8))
RULE = PassRule()


def plan_of(*keys: tuple[int, int], agent: str = "a") -> list[Row]:
    return [planned(task, repeat, agent) for task, repeat in keys]


def failed(task: int, repeat: int, *, terminal: bool = False) -> Row:
    return {"_ng_task_index": task, "_ng_rollout_index": repeat, "_ng_failure_terminal": terminal}


def planned_for(run: Run, **options: Any) -> list[Row]:
    return collect(topup_plan(run, RULE, TARGET, **options)).to_dicts()


def only(rows: list[Row], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in rows]


def test_who_votes_and_what_is_to_come(tmp_path: Path) -> None:
    rows = [
        rollout(0, 0, 1.0),
        rollout(0, 1, 0.5),
        rollout(0, 2, 1.0, mask_sample=True),
        rollout(0, 3, None),
        rollout(1, 0, 1.0),
    ]
    plan = plan_of(*((0, repeat) for repeat in range(6)), *((1, repeat) for repeat in range(4)), (2, 0))
    failures = [failed(1, 1, terminal=True), *(failed(1, 2) for _ in range(3)), *(failed(1, 3) for _ in range(2))]
    run = opened(tmp_path, rows, inputs=plan, failures=failures)
    found = only(planned_for(run), "_ng_task_index", "rollouts", "passed", "pending")
    assert found == [(0, 2, 1, 2), (1, 1, 1, 1), (2, 0, 0, 1)]
    patient = only(planned_for(run, max_attempts=4), "pending")
    assert patient == [(2,), (2,), (1,)]


def test_what_is_to_come_counts(tmp_path: Path) -> None:
    # Beta(½, ½) needs 6 rollouts, as the tests of needs say; Beta(1½, ½) more.
    run = opened(tmp_path, [], inputs=plan_of((0, 0), (0, 1), *((1, repeat) for repeat in range(9))))
    assert only(planned_for(run), "needed", "pending", "more", "reason") == [
        (6, 2, 4, "straddles"),
        (6, 9, 0, "straddles"),
    ]


def test_rollouts_to_redo_do_not_vote_and_are_to_come(tmp_path: Path) -> None:
    rows = [rollout(task, repeat, 1.0) for task in range(2) for repeat in range(8)]
    run = opened(tmp_path, rows, inputs=plan_of(*((task, repeat) for task in range(2) for repeat in range(8))))
    keys = pl.LazyFrame({"_ng_task_index": [0, 0], "_ng_rollout_index": [1, 7]})
    before, after = planned_for(run), planned_for(run, redo=keys)
    assert only(before, "rollouts", "pending", "redo", "needed", "reason") == [(8, 0, 0, 0, None)] * 2
    assert only(after, "rollouts", "passed", "pending", "redo") == [(6, 6, 2, 2), (8, 8, 0, 0)]
    assert only(after, "needed", "reason") == [(0, "redo"), (0, None)]


def test_usage_is_that_of_the_task_else_of_the_agent_else_of_the_run(tmp_path: Path) -> None:
    rows = [
        rollout(0, 0, 1.0, 90),  # total_tokens is 10 more
        rollout(0, 1, 1.0, 290),
        rollout(0, 2, 1.0, 5_000, mask_sample=True),
        rollout(1, 0, 1.0),
        rollout(2, 0, 1.0, 490, agent="b"),
    ]
    inputs = [*plan_of((0, 0), (0, 1), (0, 2), (1, 0)), *plan_of((2, 0), agent="b"), *plan_of((3, 0), agent="c")]
    run = opened(tmp_path, rows, inputs=inputs)
    # (100 + 300) / 2; the agent's mean is the same; b's own; c has none, so (100 + 300 + 500) / 3
    assert only(planned_for(run), "tokens_each") == [(200.0,), (200.0,), (500.0,), (300.0,)]
    more, tokens = planned_for(run)[3]["more"], planned_for(run)[3]["tokens"]
    assert tokens == 300 * more > 0


def test_usage_in_parts(tmp_path: Path) -> None:
    usage = {"input_tokens": 7, "output_tokens": 5}
    row = {**rollout(0, 0, 1.0), "response": {"usage": usage}}
    assert only(planned_for(opened(tmp_path, [row])), "tokens_each") == [(12.0,)]


def test_no_usage_at_all(tmp_path: Path) -> None:
    run = opened(tmp_path, [rollout(0, 0, 1.0)])
    assert only(planned_for(run), "tokens_each", "tokens", "pending_tokens") == [(None, None, None)]


def test_an_empty_run(tmp_path: Path) -> None:
    assert planned_for(opened(tmp_path, [])) == []


def test_each_agent_of_a_task_has_its_own_need(tmp_path: Path) -> None:
    rows = [
        rollout(0, 2 * repeat + place, float(place), agent="ba"[place]) for repeat in range(8) for place in range(2)
    ]
    inputs = [planned(row["_ng_task_index"], row["_ng_rollout_index"], row["agent_ref"]["name"]) for row in rows]
    found = planned_for(opened(tmp_path, rows, inputs=inputs))
    assert only(found, "_agent", "rollouts", "passed", "needed") == [("a", 8, 8, 0), ("b", 8, 0, 0)]


def numbered(run: Run) -> list[tuple[Any, ...]]:
    plan = within_budget(topup_plan(run, RULE, TARGET), None)
    return only(collect(new_repeats(run, plan)).to_dicts(), "_ng_task_index", "_agent", "first", "_ng_rollout_index")


def test_indices_go_on_from_the_highest_of_all_agents(tmp_path: Path) -> None:
    inputs = [*plan_of((0, 4), (0, 2), (5, -7)), *plan_of((0, 9), agent="b")]
    run = opened(tmp_path, [], inputs=inputs)
    needs = {row["_agent"]: row["more"] for row in planned_for(run) if row["_ng_task_index"] == 0}
    # each of the three has one rollout to come, and needs 6
    assert needs == {"a": 4, "b": 5}
    assert numbered(run) == [(0, "a", 10, 2), (0, "b", 14, 9), (5, "a", -6, -7)]


@pytest.mark.parametrize("where", ["failures", "rollouts"])
def test_indices_that_were_used_elsewhere_are_not_used_again(where: str, tmp_path: Path) -> None:
    rows = {"rollouts": [], "failures": [], where: [{**rollout(0, 20, 1.0), "_ng_failure_class": "x"}]}
    run = opened(tmp_path, rows["rollouts"], inputs=plan_of((0, 0)), failures=rows["failures"])
    assert numbered(run) == [(0, "a", 21, 0)]
