"""Whether longer rollouts have higher rewards."""

from pathlib import Path
from statistics import correlation, fmean

import pytest

from queries.token_correlation import SCOPES
from tests.queries.asking import SEEDS, ask, grouped, rollout, some_rollouts, tokens_of, voting
from tests.runs import Row


def pairs_of(rows: list[Row]) -> list[tuple[float, float]]:
    """The rewards and tokens of rollouts."""
    return [(row["reward"], float(tokens_of(row) or 0)) for row in rows]


def pearson(pairs: list[tuple[float, float]]) -> float | None:
    """The correlation, where both differ."""
    x, y = ([pair[place] for pair in pairs] for place in (0, 1))
    return correlation(x, y) if len(set(x)) > 1 and len(set(y)) > 1 else None


def expected_scopes(rows: list[Row]) -> list[tuple[float | None, int, int, int]]:
    """correlation, tasks, rollouts and tasks left out of each scope."""
    groups = [pairs_of(group) for group in grouped(rows).values()]
    known = [(one, len(group)) for group in groups if (one := pearson(group)) is not None]
    several = [group for group in groups if len(group) > 1]
    means = [(fmean(x for x, _ in group), fmean(y for _, y in group)) for group in groups]
    centred = [(x - fmean(x for x, _ in group), y - fmean(y for _, y in group)) for group in several for x, y in group]
    return [
        (fmean(one for one, _ in known), len(known), sum(count for _, count in known), len(groups) - len(known)),
        (pearson(centred), len(several), len(centred), len(groups) - len(several)),
        (pearson(means), len(groups), len(rows), 0),
        (pearson(pairs_of(rows)), len(groups), len(rows), 0),
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_scopes(seed: int, tmp_path: Path) -> None:
    rollouts = some_rollouts(seed)
    found = ask(tmp_path, "token_correlation", rollouts)
    assert [row["scope"] for row in found] == list(SCOPES)
    for row, (figure, *counts) in zip(found, expected_scopes(voting(rollouts, with_tokens=True)), strict=True):
        assert row["correlation"] == pytest.approx(figure, abs=1e-12)
        assert [row["tasks"], row["rollouts"], row["tasks_left_out"]] == counts


@pytest.mark.parametrize("seed", SEEDS)
def test_tasks(seed: int, tmp_path: Path) -> None:
    rollouts = some_rollouts(seed)
    found = ask(tmp_path, "token_correlation", rollouts, per_task=True)
    groups = grouped(voting(rollouts, with_tokens=True))
    for row, (key, group) in zip(found, groups.items(), strict=True):
        pairs = pairs_of(group)
        assert (row["_ng_task_index"], row["_agent"], row["rollouts"]) == (*key, len(pairs))
        assert row["correlation"] == pytest.approx(pearson(pairs), abs=1e-12)
        assert row["mean_reward"] == pytest.approx(fmean(x for x, _ in pairs))
        assert row["mean_tokens"] == pytest.approx(fmean(y for _, y in pairs))


def test_of_one_task(tmp_path: Path) -> None:
    rollouts = [rollout(0, place, place < 2, 100 * (place + 1)) for place in range(4)]
    figures = [row["correlation"] for row in ask(tmp_path, "token_correlation", rollouts)]
    assert figures == [-0.8944271909999159, -0.8944271909999159, None, -0.8944271909999159]


def test_within_and_between_can_differ_in_sign(tmp_path: Path) -> None:
    rollouts = [
        rollout(task, place, task / 2 - place / 10, 1000 * task + 10 * place) for task in range(3) for place in range(3)
    ]
    averaged, pooled, between, everything = (row["correlation"] for row in ask(tmp_path, "token_correlation", rollouts))
    assert (averaged, pooled) == pytest.approx((-1.0, -1.0))
    assert between == pytest.approx(1.0)
    assert everything > 0.9


@pytest.mark.parametrize("counts", [(3, 3, 3), (3, 5, 7)])
def test_rewards_that_are_the_same_correlate_with_nothing(counts: tuple[int, ...], tmp_path: Path) -> None:
    rollouts = [rollout(task, place, 0.4, 7 * task + place) for task, n in enumerate(counts) for place in range(n)]
    found = ask(tmp_path, "token_correlation", rollouts)
    assert [row["correlation"] for row in found] == [None] * 4
    assert [row["tasks_left_out"] for row in found] == [3, 0, 0, 0]
    assert {row["correlation"] for row in ask(tmp_path, "token_correlation", rollouts, per_task=True)} == {None}


def test_task_means_that_differ_by_rounding_do_not_differ(tmp_path: Path) -> None:
    rewards = [[0.1, 0.7], [0.7, 0.1], [0.3, 0.4, 0.5], [0.5, 0.4, 0.3]]
    rollouts = [
        rollout(task, place, reward, task) for task, group in enumerate(rewards) for place, reward in enumerate(group)
    ]
    assert ask(tmp_path, "token_correlation", rollouts)[2]["correlation"] is None


def test_of_each_group(tmp_path: Path) -> None:
    rollouts = [rollout(0, place, place, 10 + 10 * place, topic="coins") for place in range(2)]
    rollouts += [rollout(0, 2 + place, place, 20 - 10 * place, topic="notes") for place in range(2)]
    rollouts += [rollout(1, 0, 0.5, 40, topic="notes")]
    found = ask(tmp_path, "token_correlation", rollouts, by=["row.topic"])
    assert [(row["_row.topic"], row["scope"]) for row in found] == [
        (topic, scope) for topic in ("coins", "notes") for scope in SCOPES
    ]
    # all three notes: rewards 0, 1, 1/2 at 20, 10, 40; the means are 1/2 and 70/3, and the deviations give -5 in all
    assert [row["correlation"] for row in found] == pytest.approx(
        [1.0, 1.0, None, 1.0, -1.0, -1.0, None, -5 / (0.5 * 1400 / 3) ** 0.5]
    )
    assert [row["tasks"] for row in found] == [1, 1, 1, 1, 1, 1, 2, 2]
    per_task = ask(tmp_path, "token_correlation", rollouts, by=["row.topic"], per_task=True)
    assert [tuple(row.values())[:4] for row in per_task] == [
        ("coins", 0, "a", 2),
        ("notes", 0, "a", 2),
        ("notes", 1, "a", 1),
    ]
