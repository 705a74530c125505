"""What each metric of a run looks like."""

from pathlib import Path
from statistics import fmean, median, stdev

import pytest

from tests.queries.asking import SEEDS, ask, grouped, rollout, some_rollouts, tokens_of
from tests.runs import Row


def values_of(rows: list[Row], metric: str) -> dict[tuple[int, int], float]:
    """The values of a metric by key."""
    found = {}
    for row in rows:
        value = tokens_of(row) if metric == "output_tokens" else row.get(metric)
        if value is not None:
            found[row["_ng_task_index"], row["_ng_rollout_index"]] = value
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_figures_of_agents(seed: int, tmp_path: Path) -> None:
    rollouts = some_rollouts(seed)
    measured = [row for row in rollouts if not row["mask_sample"]]
    found = {(row["_agent"], row["metric"]): row for row in ask(tmp_path, "metric_table", rollouts, by=["agent"])}
    for agent, group in grouped(measured, by="agent").items():
        for metric in ("reward", "output_tokens", "judge_tokens"):
            values, row = values_of(group, metric), found[agent, metric]
            numbers = list(values.values())
            assert (row["rollouts"], row["tasks"]) == (len(numbers), len({task for task, _ in values}))
            assert row["coverage"] == pytest.approx(len(numbers) / len(group))
            assert (row["min"], row["max"], row["median"]) == (min(numbers), max(numbers), median(numbers))
            assert row["mean"] == pytest.approx(fmean(numbers))
            assert row["std"] == pytest.approx(stdev(numbers))


def test_a_metric_that_some_rollouts_have(tmp_path: Path) -> None:
    rollouts = [rollout(0, 0, 1.0, compiles=True), rollout(0, 1, 0.0), rollout(0, 2, 1.0, compiles=False)]
    rollouts += [rollout(1, 0, 0.0), rollout(1, 1, 1.0, **{"^c.*$": 5})]
    found = {row["metric"]: row for row in ask(tmp_path, "metric_table", rollouts)}
    assert found["compiles"] == {
        "metric": "compiles",
        "rollouts": 2,
        "coverage": 0.4,
        "tasks": 1,
        "mean": 0.5,
        "std": pytest.approx(0.7071067811865476),
        "min": 0.0,
        "median": 0.5,
        "max": 1.0,
    }
    assert (found["^c.*$"]["mean"], found["^c.*$"]["std"]) == (5.0, None)


def test_a_median_of_zero_has_no_sign(tmp_path: Path) -> None:
    rollouts = [rollout(0, repeat, -0.0) for repeat in range(3)]
    found = {row["metric"]: row for row in ask(tmp_path, "metric_table", rollouts)}
    assert repr(found["reward"]["median"]) == "0.0"
