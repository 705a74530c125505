"""How much a figure moves from repeat to repeat."""

from math import sqrt
from pathlib import Path
from statistics import fmean, stdev

import pytest

from tests.queries.asking import SEEDS, ask, grouped, rollout, some_rollouts, voting


@pytest.mark.parametrize("seed", SEEDS)
def test_spread(seed: int, tmp_path: Path) -> None:
    rollouts = some_rollouts(seed)
    found = ask(tmp_path, "repeat_spread", rollouts)
    for row, (agent, group) in zip(found, grouped(voting(rollouts), by="agent").items(), strict=True):
        means = [fmean(one["reward"] for one in repeat) for repeat in grouped(group, by="_ng_rollout_index").values()]
        assert (row["_agent"], row["repeats"], row["rollouts"]) == (agent, len(means), len(group))
        assert row["tasks"] == len({one["_ng_task_index"] for one in group})
        assert (row["min"], row["max"]) == pytest.approx((min(means), max(means)))
        assert row["mean"] == pytest.approx(fmean(means))
        assert row["std"] == pytest.approx(stdev(means))
        assert row["se"] == pytest.approx(stdev(means) / sqrt(len(means)))


def test_one_repeat_has_no_spread(tmp_path: Path) -> None:
    (row,) = ask(tmp_path, "repeat_spread", [rollout(task, 0, task % 2) for task in range(4)])
    assert (row["mean"], row["min"], row["max"], row["std"], row["se"]) == (0.5, 0.5, 0.5, None, None)


def test_of_each_group(tmp_path: Path) -> None:
    cells = [
        (0, 0, 0.0, "coins"),
        (1, 0, 1.0, "coins"),
        (0, 1, 1.0, "coins"),
        (1, 1, 1.0, "coins"),
        (2, 5, 0.25, "notes"),
    ]
    rollouts = [rollout(task, repeat, reward, topic=topic) for task, repeat, reward, topic in cells]
    found = [list(row.values()) for row in ask(tmp_path, "repeat_spread", rollouts, by=["row.topic"])]
    # the means of coins are 1/2 and 1
    assert found[0] == ["a", "coins", 2, 2, 4, 0.75, pytest.approx(sqrt(0.125)), 0.25, 0.5, 1.0]
    assert found[1] == ["a", "notes", 1, 1, 1, 0.25, None, None, 0.25, 0.25]
