"""Two runs are compared task by task, each task once, whatever its number."""

import math
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.analysis.comparison import CompareOptions, Comparison, compare
from pipeline.analysis.pairing import field_of
from pipeline.analysis.same_rollouts import ID_FIELD
from pipeline.analysis.scoring import PassRule
from pipeline.errors import UsageError
from tests.analysis.two_runs import (
    BASE,
    CANDIDATE,
    PUBLIC,
    Rewards,
    compared,
    opened,
    prompt,
    rows_of,
    slowly,
    write,
    write_rewards,
)
from tests.runs import Row, finished, jsonl, planned


def score_of(found: Comparison) -> dict[str, Any]:
    return found.changes.row(0, named=True)


def measure(found: Comparison, name: str, **where: Any) -> dict[str, Any]:
    rows = (
        found.changes.filter(pl.col("measure") == name, agent=where.get("agent")) if "agent" in where else found.changes
    )
    return rows.filter(pl.col("measure") == name).row(0, named=True)


def test_the_public_case(tmp_path: Path) -> None:
    found = compared(tmp_path, BASE, CANDIDATE)
    row = score_of(found)
    assert found.change.change is not None
    assert found.change.se is not None
    assert abs(row["change"] - PUBLIC["mean"]) < 1e-12
    assert abs(row["se"] - PUBLIC["se"]) < 1e-12
    assert abs(found.change.change / found.change.se - PUBLIC["t"]) < 1e-12
    assert abs(row["se"] - PUBLIC["not_paired_se"]) > 0.1
    assert (row["tasks"], row["up"], row["down"], row["same"]) == (4, 3, 0, 1)
    assert (row["base"], row["candidate"]) == (0.4375, 0.75)
    assert found.alone.rows() == [("base", 4, "till"), ("candidate", 5, "till")]
    assert found.verdict == "too little data"
    assert found.test == (0.25, 8, True)


NUMBERS = {0: 3, 1: 2, 2: 1, 3: 0, 5: 9}


def test_the_order_of_tasks_does_not_matter(tmp_path: Path) -> None:
    base = opened(write_rewards(tmp_path, "base", BASE))
    other = opened(write_rewards(tmp_path, "other", CANDIDATE, number=NUMBERS))
    found = compare(base, other)
    assert score_of(found) == score_of(compared(tmp_path / "again", BASE, CANDIDATE))
    assert found.facts.renumbered["_ng_task_index"].to_list() == [0, 1, 2, 3]
    assert found.alone.rows() == [("base", 4, "till"), ("candidate", 9, "till")]
    assert found.flips.select("task", "candidate_task").rows() == [(1, 2), (0, 3)]
    by_index = compare(base, other, CompareOptions(key="index"))
    assert by_index.facts.conflicts.rows() == [(0, 0), (1, 1), (2, 2), (3, 3)]
    assert score_of(by_index)["se"] != score_of(found)["se"]


@pytest.mark.parametrize("key", ["uuid", "input.uuid"])
def test_a_field_as_key(key: str, tmp_path: Path) -> None:
    field = field_of(key)
    assert field == "compare_key=input.uuid"
    base = opened(write_rewards(tmp_path, "base", BASE), field)
    other = opened(write_rewards(tmp_path, "other", CANDIDATE, number=NUMBERS), field)
    found = compare(base, other, CompareOptions(key=key))
    assert score_of(found) == score_of(compared(tmp_path, BASE, CANDIDATE))
    assert len(found.facts.conflicts) == 0


def test_tasks_without_the_field_take_no_part(tmp_path: Path) -> None:
    plan, done = rows_of(BASE)
    for row in plan[:4]:
        del row["uuid"]
    base = opened(write(tmp_path, "base", plan, done), "compare_key=input.uuid")
    other = opened(write_rewards(tmp_path, "other", CANDIDATE), "compare_key=input.uuid")
    found = compare(base, other, CompareOptions(key="uuid"))
    assert found.facts.without_key == (1, 0)
    assert found.facts.shared == 3


def test_tasks_with_the_same_content_are_one(tmp_path: Path) -> None:
    plan, done = rows_of({0: [1, 1], 1: [0]})
    plan_again, done_again = rows_of({0: [0, 0]}, number={0: 7})
    base = opened(write(tmp_path, "base", plan + plan_again, done + done_again))
    found = compare(base, opened(write_rewards(tmp_path, "other", {0: [1], 1: [1]})))
    assert found.facts.pooled[0].select("tasks", "first").rows() == [(2, 0)]
    assert len(found.facts.pooled[1]) == 0
    row = score_of(found)
    assert (row["tasks"], row["base"], row["candidate"], row["change"]) == (2, 0.25, 1.0, 0.75)


def test_a_task_of_several_agents_counts_once(tmp_path: Path) -> None:
    def run(name: str, rewards: dict[tuple[int, str], list[int]]) -> Any:
        plan, done, next_index = [], [], dict.fromkeys(range(9), 0)
        for (task, agent), of_task in rewards.items():
            for reward in of_task:
                plan.append(planned(task, next_index[task], agent, **prompt(task)))
                done.append(finished(task, next_index[task], reward=reward))
                next_index[task] += 1
        return opened(write(tmp_path, name, plan, done))

    base = run("base", {(0, "a"): [0, 0], (0, "b"): [0], (1, "a"): [1], (2, "b"): [1]})
    other = run("other", {(0, "a"): [1, 1], (0, "b"): [1], (1, "a"): [0], (2, "a"): [1]})
    found = compare(base, other)
    overall = score_of(found)
    assert (found.facts.shared, overall["tasks"], overall["change"]) == (3, 2, 0.0)
    of_agents = {row["agent"]: row for row in found.changes.filter(measure="reward").to_dicts()}
    assert (of_agents["a"]["tasks"], of_agents["a"]["change"]) == (2, 0.0)
    assert (of_agents["b"]["tasks"], of_agents["b"]["change"], of_agents["b"]["se"]) == (1, 1.0, None)
    assert found.alone.rows() == [("base", 2, "b"), ("candidate", 2, "a")]


def test_another_name_of_the_agent(tmp_path: Path) -> None:
    base = opened(write_rewards(tmp_path, "base", BASE, agent="old"))
    found = compare(base, opened(write_rewards(tmp_path, "other", CANDIDATE, agent="new")))
    assert score_of(found)["tasks"] == 4
    assert found.facts.other_agents == 4


def test_masked_and_unscored_rollouts_never_vote(tmp_path: Path) -> None:
    plan, done = rows_of({task: [1, 0] for task in range(6)})
    done[1]["mask_sample"] = True
    done[3]["reward"] = None
    done[5]["reward"] = "good"
    found = compare(
        opened(write_rewards(tmp_path, "base", {task: [1, 0] for task in range(6)})),
        opened(write(tmp_path, "other", plan, done)),
    )
    assert measure(found, "reward")["change"] == pytest.approx(3 * 0.5 / 6, abs=1e-12)
    assert measure(found, "masked")["candidate"] == pytest.approx(1 / 12)
    assert measure(found, "unscored")["candidate"] == pytest.approx(2 / 12)
    assert measure(found, "reward, lost rollouts as 0")["change"] == pytest.approx(0.0)
    (infrastructure,) = found.infrastructure.to_dicts()
    assert infrastructure["by_lost"] == pytest.approx(-0.25)


def test_what_was_lost(tmp_path: Path) -> None:
    found = compared(
        tmp_path, {task: [1, 1] for task in range(8)}, {task: [1, None if task < 4 else 1] for task in range(8)}
    )
    assert (found.verdict, score_of(found)["change"]) == ("no difference found", 0.0)
    assert measure(found, "missing")["change"] == 0.25
    assert measure(found, "failed")["change"] == 0.0
    assert found.infrastructure.select("scored_change", "lost_as_zero_change", "by_lost").rows() == [
        (0.0, -0.25, -0.25)
    ]


def test_failed_attempts_are_told_from_what_left_no_line(tmp_path: Path) -> None:
    base = opened(write_rewards(tmp_path, "base", {0: [1, 1], 1: [1, 1]}))
    path = write_rewards(tmp_path, "other", {0: [1, None], 1: [1, None]})
    (tmp_path / "other_failures.jsonl").write_bytes(jsonl([{"_ng_task_index": 0, "_ng_rollout_index": 1}] * 2))
    found = compare(base, opened(path))
    assert (measure(found, "missing")["change"], measure(found, "failed")["change"]) == (0.5, 0.25)


def test_what_was_cut_off_or_unhealthy(tmp_path: Path) -> None:
    rewards: Rewards = {task: [1, 1] for task in range(6)}
    base = opened(write_rewards(tmp_path / "base", "rollouts", rewards))
    plan, done = rows_of({task: [1, 0] for task in range(6)})
    done[1]["response"]["incomplete_details"] = {"reason": "max_output_tokens"}
    path = write(tmp_path / "other", "rollouts", plan, done)
    verdicts: list[Row] = [
        {
            "_ng_task_index": task,
            "_ng_rollout_index": 1,
            "verdict": "unhealthy" if task == 1 else "healthy",
            "findings": [],
        }
        for task in range(6)
    ]
    (tmp_path / "other" / "rollout_verdicts.jsonl").write_bytes(jsonl(verdicts))
    found = compare(base, opened(path))
    assert measure(found, "truncated")["change"] == pytest.approx(0.5 / 6)
    (row,) = found.infrastructure.to_dicts()
    assert row["scored_change"] == pytest.approx(-0.5)
    assert row["untroubled_change"] == pytest.approx(-0.5 * 4 / 6)
    assert row["by_troubled"] == pytest.approx(-0.5 * 2 / 6)


def test_by_a_field_of_the_base(tmp_path: Path) -> None:
    found = compared(tmp_path, BASE, CANDIDATE, by=("input.level",))
    rows = found.changes.filter(measure="reward").select("_input.level", "tasks", "change").rows()
    assert [(None if level is None else str(level), tasks, change) for level, tasks, change in rows] == [
        (None, 4, 0.3125),
        ("easy", 2, 0.125),
        ("hard", 2, 0.5),
    ]
    assert found.infrastructure.height == 3


def test_another_score_and_rule(tmp_path: Path) -> None:
    rule = PassRule(score="output_tokens", threshold=12)
    found = compared(tmp_path, BASE, CANDIDATE, rule=rule)
    assert score_of(found)["measure"] == "output_tokens"
    assert score_of(found)["change"] == 0.0
    assert found.states == {"pass to fail": 0, "fail to pass": 0, "pass in both": 2, "fail in both": 2}
    with pytest.raises(UsageError, match="no column 'nope'"):
        compared(tmp_path, BASE, CANDIDATE, rule=PassRule(score="nope"))


def test_flips(tmp_path: Path) -> None:
    found = compared(
        tmp_path, {0: [1, 1, 1], 1: [0, 0], 2: [1, 0], 3: [1]}, {0: [1, 0, 0], 1: [1, 1], 2: [0, 0], 3: [1]}
    )
    assert found.flips.drop("agent").rows() == [("pass to fail", 0, 0, 3, 3, 1, 3), ("fail to pass", 1, 1, 0, 2, 2, 2)]
    assert found.states == {"pass to fail": 1, "fail to pass": 1, "pass in both": 1, "fail in both": 1}


def test_the_same_rollouts_scored_twice(tmp_path: Path) -> None:
    base = opened(write_rewards(tmp_path, "base", {0: [1, 1, 0], 1: [0, 0, 1], 2: [1]}), ID_FIELD)
    plan, done = rows_of({0: [1, 0, 0], 1: [1, 0, None], 2: [0]})
    done[0]["response"]["id"] = None
    done[4]["response"]["id"] = "another"
    found = compare(base, opened(write(tmp_path, "other", plan, done), ID_FIELD), CompareOptions(pair="rollout"))
    matched = found.facts.matched
    assert matched is not None
    assert (matched.same, matched.unchecked, matched.other.rows(), matched.alone) == (4, 1, [(1, 1)], (1, 0))
    assert found.flips.drop("agent").rows() == [
        ("pass to fail", 0, 1, 1.0, 0.0),
        ("pass to fail", 2, 0, 1.0, 0.0),
        ("fail to pass", 1, 0, 0.0, 1.0),
    ]
    assert found.states == {"pass to fail": 2, "fail to pass": 1, "pass in both": 1, "fail in both": 1}
    assert score_of(found)["change"] == pytest.approx((-1 / 3 + 1 - 1) / 3)


def test_rollouts_scored_once_only_take_no_part_in_pairs_of_rollouts(tmp_path: Path) -> None:
    base = opened(write_rewards(tmp_path, "base", {task: [1, 0] for task in range(7)}), ID_FIELD)
    plan, done = rows_of({task: [1, 0] for task in range(7)})
    for row in done[1::2]:
        row["reward"] = "bad"
    other = opened(write(tmp_path, "other", plan, done), ID_FIELD)
    for runs, lost in (((base, other), 0.0), ((other, base), 0.0)):
        found = compare(*runs, CompareOptions(pair="rollout"))
        row = score_of(found)
        assert (row["tasks"], row["base"], row["candidate"], row["change"], row["same"]) == (7, 1.0, 1.0, 0.0, 7)
        assert (found.verdict, found.test) == ("no difference found", (1.0, 1, True))
        assert found.facts.matched is not None
        assert found.facts.matched.scored == 7
        assert sum(found.states.values()) == 7
        assert measure(found, "reward, lost rollouts as 0")["change"] == lost
        assert measure(found, "output_tokens")["base"] == measure(found, "output_tokens")["candidate"] == 30.0
        assert abs(measure(found, "unscored")["change"]) == 0.5
        (infrastructure,) = found.infrastructure.to_dicts()
        assert (infrastructure["by_lost"], infrastructure["by_troubled"]) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("base", "other"),
    [
        ([0.1] * 3, [0.1] * 8),
        ([0.1 + 0.2], [0.3]),
        ([1e6 + 0.1] * 3, [1e6 + 0.1] * 7),
        ([-3e9 - 0.7] * 3, [-3e9 - 0.7] * 9),
    ],
)
def test_what_is_but_rounding_is_no_change(base: list[float], other: list[float], tmp_path: Path) -> None:
    found = compared(tmp_path, dict.fromkeys(range(8), base), dict.fromkeys(range(8), other))
    row = score_of(found)
    assert (row["change"], row["se"], row["low_95"], row["up"], row["down"], row["same"]) == (0.0, 0.0, None, 0, 0, 8)
    assert (found.verdict, found.test) == ("no difference found", (1.0, 1, True))


def test_a_run_without_inputs(tmp_path: Path) -> None:
    plan, done = rows_of(CANDIDATE, number=NUMBERS)
    other = opened(write(tmp_path, "other", plan, done, inputs=False))
    found = compare(opened(write_rewards(tmp_path, "base", BASE)), other)
    assert found.facts.of == "prompt"
    assert score_of(found)["change"] == 0.3125


@pytest.mark.parametrize(
    ("base", "candidate"),
    [
        ({}, {}),
        ({0: [1]}, {}),
        ({0: [1]}, {1: [1]}),
        ({0: [1]}, {0: [0]}),
        ({0: [None]}, {0: [1]}),
        ({0: [1], 1: [1]}, {0: [1], 1: [1]}),
        ({task: [1] for task in range(9)}, {task: [0] for task in range(9)}),
        ({task: [1e308] for task in range(3)}, {task: [-1e308] for task in range(3)}),
        ({task: [1e308, 1e308] for task in range(3)}, {task: [0, 1] for task in range(3)}),
        ({task: [1e307] for task in range(5)}, {task: [task] for task in range(5)}),
    ],
)
def test_little_or_nothing_to_compare(base: Rewards, candidate: Rewards, tmp_path: Path) -> None:
    found = compared(tmp_path, base, candidate)
    enough = len(base) > 6
    assert found.verdict == ("worse" if enough else "too little data")
    for frame in (found.changes, found.infrastructure):
        floats = frame.select(pl.selectors.float())
        assert not any(one.is_nan().any() or one.is_infinite().any() for one in floats)
    assert found.smallest_effect is None or math.isfinite(found.smallest_effect)


REWARDS = st.dictionaries(
    st.integers(0, 7),
    st.lists(st.sampled_from([0.0, 1.0, 0.5, 0.1, None]), min_size=1, max_size=4),
    max_size=8,
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(REWARDS, REWARDS, st.randoms(use_true_random=False))
def test_as_plain_python_has_it(tmp_path: Path, base: Rewards, candidate: Rewards, chance: random.Random) -> None:
    expected = slowly(base, candidate)
    shuffled: list[list[Row]] = []
    for rewards in (base, candidate):
        rows = rows_of(rewards)
        for part in rows:
            chance.shuffle(part)
        shuffled += rows
    found = compare(opened(write(tmp_path, "base", *shuffled[:2])), opened(write(tmp_path, "other", *shuffled[2:])))
    assert found.change.tasks == expected["tasks"]
    assert found.change.change == pytest.approx(expected["change"], abs=1e-12)
    assert found.change.se == pytest.approx(expected["se"], abs=1e-12)
    if expected["tasks"]:
        row = score_of(found)
        assert (row["up"], row["down"], row["same"]) == (expected["up"], expected["down"], expected["same"])
    again = compared(tmp_path, base, candidate)
    assert again.changes.equals(found.changes)
    assert again.flips.equals(found.flips)
