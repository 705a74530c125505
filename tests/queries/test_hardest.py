"""The tasks that go worst."""

from pathlib import Path
from statistics import fmean

import pytest

from pipeline.errors import UsageError
from tests.queries.asking import SEEDS, ask, grouped, mean, rewards, rollout, some_rollouts, tokens_of, voting


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n", [0, 3])
def test_tasks(seed: int, n: int, tmp_path: Path) -> None:
    rollouts = some_rollouts(seed)
    groups = grouped(voting(rollouts))
    found = ask(tmp_path, "hardest", rollouts, threshold=0.4, n=n)
    assert len(found) == (n or len(groups))
    means = sorted(fmean(rewards(group)) for group in groups.values())
    assert [row["mean_reward"] for row in found] == pytest.approx(means[: n or None])
    for row in found:
        group = groups[row["_ng_task_index"], row["_agent"]]
        tokens = [count for one in group if (count := tokens_of(one)) is not None]
        assert row["mean_reward"] == pytest.approx(fmean(rewards(group)))
        assert row["pass_rate"] == pytest.approx(row["passed"] / len(group))
        assert (row["rollouts"], row["rollouts_with_tokens"]) == (len(group), len(tokens))
        assert row["passed"] == sum(reward >= 0.4 for reward in rewards(group))
        assert row["mean_output_tokens"] == pytest.approx(mean(tokens))


def test_of_equal_means_the_task_with_more_rollouts_comes_first(tmp_path: Path) -> None:
    rollouts = [rollout(task, place, 0.0) for task, n in enumerate([1, 3, 2, 3]) for place in range(n)]
    assert [row["_ng_task_index"] for row in ask(tmp_path, "hardest", rollouts)] == [1, 3, 2, 0]


def test_fewer_than_no_task_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="n=-1"):
        ask(tmp_path, "hardest", [], n=-1)


def test_tasks_of_each_group(tmp_path: Path) -> None:
    topics = [
        (0, 0, 0.0, "coins"),
        (0, 1, 0.0, "coins"),
        (1, 0, 1.0, "coins"),
        (1, 1, 0.0, "notes"),
        (2, 0, 0.5, "notes"),
    ]
    rollouts = [rollout(task, repeat, reward, topic=topic) for task, repeat, reward, topic in topics]
    columns = ("_row.topic", "_ng_task_index", "_agent", "mean_reward", "rollouts")
    found = ask(tmp_path, "hardest", rollouts, by=["row.topic"])
    assert list(found[0])[:4] == list(columns[:4])
    assert [tuple(row[name] for name in columns) for row in found] == [
        ("coins", 0, "a", 0.0, 2),
        ("coins", 1, "a", 1.0, 1),
        ("notes", 1, "a", 0.0, 1),
        ("notes", 2, "a", 0.5, 1),
    ]
    assert ask(tmp_path, "hardest", rollouts, by=["row.topic"], n=1) == [found[0], found[2]]


@pytest.mark.parametrize("by", [[], ["agent"]])
@pytest.mark.parametrize("n", [2**32, 2**63, 2**64, 10**60])
def test_more_tasks_than_there_can_be(n: int, by: list[str], tmp_path: Path) -> None:
    rollouts = some_rollouts(0)
    assert ask(tmp_path, "hardest", rollouts, n=n, by=by) == ask(tmp_path, "hardest", rollouts, n=0, by=by)
