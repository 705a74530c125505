"""Variance components, against the analysis of variance in plain Python."""

from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.analysis.variance import COMPONENTS, variance_components
from pipeline.frames.lazy import collect
from tests.analysis.voting import tasks_of


def components(tasks: list[list[float]]) -> dict[str, tuple[float | None, str | None]]:
    rows = collect(variance_components(tasks_of(tasks), ["_agent"])).to_dicts()
    assert [row["figure"] for row in rows] == list(COMPONENTS)
    assert {(row["tasks"], row["rollouts"]) for row in rows} == {(len(tasks), sum(map(len, tasks)))}
    return {row["figure"]: (row["value"], row["note"]) for row in rows}


def slow_components(tasks: list[list[float]]) -> tuple[float, float]:
    """The estimates between and within, the first as it is."""
    every = [score for scores in tasks for score in scores]
    a, n, mean = len(tasks), len(every), fmean(every)
    within = sum((score - fmean(scores)) ** 2 for scores in tasks for score in scores) / (n - a)
    between = sum(len(scores) * (fmean(scores) - mean) ** 2 for scores in tasks) / (a - 1)
    n0 = (n - sum(len(scores) ** 2 for scores in tasks) / n) / (a - 1)
    return (between - within) / n0, within


@given(
    st.lists(st.lists(st.sampled_from([0.0, 0.25, 1.0]), min_size=2, max_size=5), min_size=2, max_size=5).filter(
        lambda tasks: len({score for scores in tasks for score in scores}) > 1
    )
)
def test_analysis_of_variance(tasks: list[list[float]]) -> None:
    found = components(tasks)
    between, within = slow_components(tasks)
    assert found[COMPONENTS[0]][0] == pytest.approx(max(between, 0.0), abs=1e-12)
    assert found[COMPONENTS[1]][0] == pytest.approx(within, abs=1e-12)
    assert found[COMPONENTS[1]][1] is None
    assert found[COMPONENTS[2]][0] == pytest.approx(max(between, 0.0) / (max(between, 0.0) + within), abs=1e-12)
    if between < -1e-9:
        assert found[COMPONENTS[0]][1] == found[COMPONENTS[2]][1] == "the estimate is below 0"


def test_by_hand() -> None:
    """Sizes 1 and 2, means 0 and 1: MSB = 2/3, MSW = 0, n0 = 3 - 5/3 = 4/3; between 1/2, ICC 1."""
    assert [value for value, _ in components([[0.0], [1.0, 1.0]]).values()] == pytest.approx([0.5, 0.0, 1.0])


@pytest.mark.parametrize(
    ("tasks", "reason"),
    [
        ([[0.0, 1.0]], "fewer than two tasks"),
        ([[0.0], [1.0]], "no task has two rollouts"),
        ([[0.1, 0.1, 0.1], [0.1, 0.1]], "no score differs"),
    ],
)
def test_no_value(tasks: list[list[float]], reason: str) -> None:
    assert set(components(tasks).values()) == {(None, reason)}
