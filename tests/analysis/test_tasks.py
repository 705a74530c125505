"""One row a task of an agent."""

from statistics import fmean

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.analysis.tasks import clusters, enough, with_enough
from pipeline.frames.lazy import collect
from tests.analysis.voting import tasks_of


@given(st.lists(st.lists(st.sampled_from([0.0, 0.1, 0.7, 1.0]), min_size=1, max_size=6), min_size=1, max_size=4))
def test_figures_of_a_task(tasks: list[list[float]]) -> None:
    for row, scores in zip(collect(tasks_of(tasks, threshold=0.7)).to_dicts(), tasks, strict=True):
        mean = fmean(scores)
        assert (row["rollouts"], row["passed"]) == (len(scores), sum(score >= 0.7 for score in scores))
        assert (row["score"], row["mean_score"]) == pytest.approx((sum(scores), mean))
        assert min(scores) <= row["mean_score"] <= max(scores)
        assert row["squares"] == pytest.approx(sum((score - mean) ** 2 for score in scores))
        assert row["differs"] == (len(set(scores)) > 1) == (row["squares"] > 0)


def test_agents_of_one_task_are_one_cluster() -> None:
    tasks = pl.LazyFrame(
        {"_ng_task_index": [0, 0, 1], "_agent": ["a", "b", "a"], "rollouts": [2, 3, 4], "x": [1.0, None, 0.5]}
    )
    summed = clusters(with_enough(tasks, [3]), [], ["x", "rollouts", enough(3)])
    assert collect(summed).rows() == [(0, 1.0, 5.0, 1.0), (1, 0.5, 4.0, 1.0)]
