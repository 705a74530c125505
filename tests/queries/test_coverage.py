"""How much of what was planned can be used."""

from pathlib import Path
from typing import Any

import pytest

from tests.queries.asking import SEEDS, answer, grouped, opened, rewards, rollout, some_rollouts
from tests.runs import Row, planned

INCOMPLETE: Row = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}


def verdict(task: int, repeat: int, said: str) -> Row:
    """What a quality check says of a rollout."""
    return {"_ng_task_index": task, "_ng_rollout_index": repeat, "verdict": said, "findings": ["x"]}


@pytest.mark.parametrize("seed", SEEDS)
def test_counts_of_agents(seed: int, tmp_path: Path) -> None:
    rollouts = some_rollouts(seed)
    found = answer(opened(tmp_path, rollouts), "coverage").to_dicts()
    for row, (agent, group) in zip(found, grouped(rollouts, by="agent").items(), strict=True):
        measured = [one for one in group if not one["mask_sample"]]
        assert row["_agent"] == agent
        assert row["tasks"] == len({one["_ng_task_index"] for one in group})
        assert (row["expected"], row["finished"], row["missing"]) == (len(group), len(group), 0)
        assert (row["masked"], row["measured"]) == (len(group) - len(measured), len(measured))
        assert row["unscored"] == len(measured) - len(rewards(measured))


def test_what_is_missing_truncated_and_judged(tmp_path: Path) -> None:
    inputs = [planned(task, repeat, topic="ab"[task]) for task in range(2) for repeat in range(3)]
    rollouts: list[Row] = [rollout(0, 0, 1.0), rollout(0, 1, None), rollout(1, 0, 0.0), rollout(1, 2, 1.0)]
    rollouts[2]["response"] |= INCOMPLETE
    verdicts = [verdict(0, 0, "unhealthy"), verdict(0, 0, "healthy"), verdict(0, 1, "unobserved")]
    verdicts += [verdict(1, 0, "unhealthy"), verdict(1, 1, "unhealthy")]
    run = opened(tmp_path, rollouts, inputs=inputs, verdicts=verdicts)
    assert answer(run, "coverage", by=["input.topic"]).to_dicts() == [
        counts("a", finished=2, missing=1, measured=2, unscored=1, healthy=1, unobserved=1),
        counts("b", finished=2, missing=1, measured=2, truncated=1, unhealthy=1, no_verdict=1),
    ]


def test_every_finished_rollout_has_one_of_the_verdicts(tmp_path: Path) -> None:
    said = ["healthy", "unhealthy", "unobserved", "dubious", "", "HEALTHY"]
    verdicts = [verdict(0, repeat, one) for repeat, one in enumerate(said)]
    (row,) = answer(
        opened(tmp_path, [rollout(0, repeat, 1.0) for repeat in range(8)], verdicts=verdicts), "coverage"
    ).to_dicts()
    kinds = ("healthy", "unhealthy", "unobserved", "other_verdict", "no_verdict")
    assert [row[kind] for kind in kinds] == [1, 1, 1, 3, 2]
    assert row["finished"] == 8


def counts(topic: str, **some: Any) -> Row:
    """The counts of a topic, 0 unless said otherwise."""
    names = ("finished", "missing", "masked", "measured", "unscored", "truncated")
    verdicts = ("healthy", "unhealthy", "unobserved", "other_verdict", "no_verdict")
    zeros: Row = dict.fromkeys((*names, *verdicts), 0)
    return {"_input.topic": topic, "tasks": 1, "expected": 3, **zeros, **some}
