"""How the agents of a run do."""

from pathlib import Path

import pytest

from tests.queries.asking import SEEDS, ask, grouped, mean, rewards, rollout, some_rollouts, tokens_of


@pytest.mark.parametrize("seed", SEEDS)
def test_figures(seed: int, tmp_path: Path) -> None:
    rollouts = some_rollouts(seed)
    measured = [row for row in rollouts if not row["mask_sample"]]
    found = ask(tmp_path, "agents", rollouts)
    for row, (agent, group) in zip(found, grouped(measured, by="agent").items(), strict=True):
        scored, tokens = rewards(group), [count for one in group if (count := tokens_of(one)) is not None]
        assert row["_agent"] == agent
        assert row["tasks"] == len({one["_ng_task_index"] for one in group})
        assert (row["rollouts"], row["scored"], row["rollouts_with_tokens"]) == (len(group), len(scored), len(tokens))
        assert row["passed"] == sum(reward >= 1 for reward in scored)
        assert row["mean_reward"] == pytest.approx(mean(scored))
        assert row["pass_rate"] == pytest.approx(row["passed"] / len(scored))
        assert row["mean_output_tokens"] == pytest.approx(mean(tokens))


def test_by_keeps_agents_apart(tmp_path: Path) -> None:
    rollouts = [rollout(task, 0, task % 2, agent=agent, topic="coins") for agent, task in (("b", 0), ("a", 1))]
    found = ask(tmp_path, "agents", rollouts, by=["row.topic"])
    assert [(row["_agent"], row["_row.topic"], row["mean_reward"]) for row in found] == [
        ("a", "coins", 1.0),
        ("b", "coins", 0.0),
    ]
    assert [(row["mean_output_tokens"], row["rollouts_with_tokens"]) for row in found] == [(None, 0), (None, 0)]
