"""How often each task is passed."""

from pathlib import Path

import pytest

from tests.queries.asking import SEEDS, ask, grouped, mean, rewards, some_rollouts, voting


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("threshold", [1.0, 0.4])
def test_of_tasks(seed: int, threshold: float, tmp_path: Path) -> None:
    rollouts = some_rollouts(seed)
    found = ask(tmp_path, "pass_rates", rollouts, threshold=threshold)
    groups = grouped(voting(rollouts))
    assert [(row["_ng_task_index"], row["_agent"]) for row in found] == list(groups)
    for row, group in zip(found, groups.values(), strict=True):
        passed = sum(reward >= threshold for reward in rewards(group))
        assert (row["rollouts"], row["passed"]) == (len(group), passed)
        assert row["pass_rate"] == pytest.approx(passed / len(group))
        assert row["mean_reward"] == pytest.approx(mean(rewards(group)))


@pytest.mark.parametrize("seed", SEEDS)
def test_by_topic(seed: int, tmp_path: Path) -> None:
    rollouts = some_rollouts(seed)
    found = ask(tmp_path, "pass_rates", rollouts, by=["row.topic"])
    assert [(row["_row.topic"], row["tasks"], row["rollouts"]) for row in found] == [
        (topic, len({row["_ng_task_index"] for row in group}), len(group))
        for topic, group in grouped(voting(rollouts), by="topic").items()
    ]
