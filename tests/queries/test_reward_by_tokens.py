"""How the reward goes with the length of rollouts."""

from math import sqrt
from pathlib import Path
from statistics import stdev

import pytest

from pipeline.errors import UsageError
from tests.queries.asking import SEEDS, ask, grouped, mean, rollout, some_rollouts, tokens_of, voting
from tests.runs import Row

T_975 = {1: 12.706204736432095, 2: 4.302652729911275, 3: 3.182446305284263}


def bins_of(values: list[float], bins: int, *, quantiles: bool) -> list[int]:
    """The bin of each value."""
    if quantiles:
        return [sum(other < value for other in values) * bins // len(values) + 1 for value in values]
    low, width = min(values), max(values) - min(values)
    return [min(int((value - low) * bins / width), bins - 1) + 1 if width else 1 for value in values]


def expected_bins(rows: list[Row], bins: int, *, quantiles: bool) -> list[tuple[float, ...]]:
    """bin, low, high, rollouts, tasks of each bin."""
    values = [float(tokens_of(row) or 0) for row in rows]
    places: dict[int, list[tuple[float, Row]]] = {}
    for place, value, row in zip(bins_of(values, bins, quantiles=quantiles), values, rows, strict=True):
        places.setdefault(place, []).append((value, row))
    return [
        (
            place,
            min(value for value, _ in there),
            max(value for value, _ in there),
            len(there),
            len({row["_ng_task_index"] for _, row in there}),
        )
        for place, there in sorted(places.items())
    ]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("bins", [1, 3, 10])
@pytest.mark.parametrize("quantiles", [True, False])
def test_bins(seed: int, bins: int, quantiles: bool, tmp_path: Path) -> None:
    rollouts = some_rollouts(seed)
    found = ask(tmp_path, "reward_by_tokens", rollouts, bins=bins, quantiles=quantiles)
    columns = ("bin", "low", "high", "rollouts", "tasks")
    voters = voting(rollouts, with_tokens=True)
    assert [tuple(row[name] for name in columns) for row in found] == expected_bins(voters, bins, quantiles=quantiles)
    by_agent = ask(tmp_path, "reward_by_tokens", rollouts, bins=bins, quantiles=quantiles, by=["agent"])
    assert [(row["_agent"], *(row[name] for name in columns)) for row in by_agent] == [
        (agent, *one)
        for agent, group in grouped(voters, by="agent").items()
        for one in expected_bins(group, bins, quantiles=quantiles)
    ]


@pytest.mark.parametrize("rewards", [[1.0], [0.0, 1.0], [0.0, 1.0, 1.0], [0.2, 0.4, 0.9, 1.0]])
def test_interval_of_tasks_with_a_rollout_each_is_that_of_t(rewards: list[float], tmp_path: Path) -> None:
    rollouts = [rollout(place, 0, reward, place) for place, reward in enumerate(rewards)]
    (row,) = ask(tmp_path, "reward_by_tokens", rollouts, bins=1)
    assert row["mean_reward"] == pytest.approx(mean(rewards))
    interval = (row["mean_reward_ci_low_95"], row["mean_reward_ci_high_95"])
    if len(rewards) == 1:
        assert interval == (None, None)
    else:
        half = T_975[len(rewards) - 1] * stdev(rewards) / sqrt(len(rewards))
        assert interval == pytest.approx((row["mean_reward"] - half, row["mean_reward"] + half))


@pytest.mark.parametrize(
    "clusters", [[[0.0, 1.0]], [[1.0, 1.0], [0.0]], [[1.0, 0.5, 1.0], [0.0, 0.0], [0.5]], [[1.0, 1.0], [1.0]]]
)
def test_interval_is_clustered_by_task(clusters: list[list[float]], tmp_path: Path) -> None:
    rollouts = [
        rollout(task, place, reward, 10 * task + place)
        for task, cluster in enumerate(clusters)
        for place, reward in enumerate(cluster)
    ]
    (row,) = ask(tmp_path, "reward_by_tokens", rollouts, bins=1)
    every = [reward for cluster in clusters for reward in cluster]
    middle, tasks = sum(every) / len(every), len(clusters)
    assert (row["mean_reward"], row["tasks"]) == (pytest.approx(middle), tasks)
    interval = (row["mean_reward_ci_low_95"], row["mean_reward_ci_high_95"])
    squares = sum((sum(cluster) - len(cluster) * middle) ** 2 for cluster in clusters)
    if tasks == 1 or squares == 0:
        assert interval == (None, None)
    else:
        half = T_975[tasks - 1] * sqrt(tasks / (tasks - 1) * squares) / len(every)
        assert interval == pytest.approx((middle - half, middle + half))


def test_equal_counts_are_not_split(tmp_path: Path) -> None:
    rollouts = [rollout(0, place, 1.0, 7) for place in range(5)]
    assert [row["rollouts"] for row in ask(tmp_path, "reward_by_tokens", rollouts)] == [5]
    assert [row["bin"] for row in ask(tmp_path, "reward_by_tokens", rollouts, quantiles=False)] == [1]


@pytest.mark.parametrize("bins", [3, 49, 187])
def test_the_lower_edge_belongs_to_a_bin(bins: int, tmp_path: Path) -> None:
    rollouts = [rollout(0, place, 1.0, place) for place in range(bins + 1)]
    found = ask(tmp_path, "reward_by_tokens", rollouts, bins=bins, quantiles=False)
    assert [row["low"] for row in found] == list(range(bins))
    assert [row["rollouts"] for row in found] == [1] * (bins - 1) + [2]


def test_the_width_of_all_bins_may_be_beyond_a_double(tmp_path: Path) -> None:
    rollouts = [rollout(0, place, 1.0, m=m) for place, m in enumerate([-1.7e308, 0.0, 1.7e308])]
    found = ask(tmp_path, "reward_by_tokens", rollouts, field="m", bins=2, quantiles=False)
    assert [(row["bin"], row["rollouts"]) for row in found] == [(1, 1), (2, 2)]


@pytest.mark.parametrize("bins", [0, -1, 10**9])
def test_a_senseless_number_of_bins_is_refused(bins: int, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"bins={bins}"):
        ask(tmp_path, "reward_by_tokens", [], bins=bins)
