"""Whether passing rollouts of a task are longer than failing ones."""

from pathlib import Path

import pytest

from tests.queries.asking import SEEDS, ask, grouped, mean, rollout, some_rollouts, tokens_of, voting


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("threshold", [1.0, 0.4])
def test_gaps(seed: int, threshold: float, tmp_path: Path) -> None:
    rollouts = some_rollouts(seed)
    expected = []
    for (task, agent), group in grouped(voting(rollouts, with_tokens=True)).items():
        passing = [float(tokens_of(row) or 0) for row in group if row["reward"] >= threshold]
        failing = [float(tokens_of(row) or 0) for row in group if row["reward"] < threshold]
        if passing and failing:
            means = (mean(passing) or 0.0, mean(failing) or 0.0)
            expected.append((-(means[0] - means[1]), task, agent, *means, len(passing), len(failing)))
    found = ask(tmp_path, "length_gap", rollouts, threshold=threshold)
    columns = ("_ng_task_index", "_agent", "passing", "failing", "passing_rollouts", "failing_rollouts")
    assert [tuple(row[name] for name in columns) for row in found] == [one[1:] for one in sorted(expected)]
    assert [row["gap"] for row in found] == [-one[0] for one in sorted(expected)]


def test_of_one_task(tmp_path: Path) -> None:
    rollouts = [rollout(0, place, place < 2, 100 * (place + 1)) for place in range(4)]
    (row,) = ask(tmp_path, "length_gap", rollouts)
    assert (row["passing"], row["failing"], row["gap"]) == (150.0, 350.0, -200.0)


def test_of_each_group(tmp_path: Path) -> None:
    cells = [(0, "coins", 100, 40), (0, "notes", 10, 30), (1, "coins", 90, 10)]
    rollouts = [
        rollout(task, 2 * place + failing, float(not failing), tokens, topic=topic)
        for place, (task, topic, *counts) in enumerate(cells)
        for failing, tokens in enumerate(counts)
    ]
    found = ask(tmp_path, "length_gap", rollouts, by=["row.topic"])
    assert [(row["_row.topic"], row["_ng_task_index"], row["gap"]) for row in found] == [
        ("coins", 1, 80.0),
        ("coins", 0, 60.0),
        ("notes", 0, -20.0),
    ]
