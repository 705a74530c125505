"""Intervals, against their formulas in plain Python."""

import random
from math import sqrt
from statistics import fmean, stdev
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.analysis import resampling
from pipeline.analysis.intervals import across_repeats, bootstrap_means
from pipeline.clustered import clustered_means
from pipeline.frames.lazy import collect

T_975 = {1: 12.706204736432095, 2: 4.302652729911275, 3: 3.182446305284263, 4: 2.7764451051977987}
"""Quantiles of Student's t, from a table."""
scores = st.floats(-5, 5).map(lambda value: round(value, 3))
clustered_scores = st.lists(st.lists(scores, min_size=1, max_size=5), min_size=2, max_size=5)


def tasks_of(clusters: list[list[float]], **more: Any) -> pl.LazyFrame:
    """One row a task: its total and its number of rollouts."""
    columns = {"_ng_task_index": range(len(clusters)), "total": map(sum, clusters), "weight": map(len, clusters)}
    types = {"total": pl.Float64, "weight": pl.UInt32}
    return (
        pl.DataFrame({name: list(values) for name, values in columns.items()}, schema_overrides=types)
        .lazy()
        .with_columns(**more)
    )


def row_of(frame: pl.LazyFrame) -> dict[str, Any]:
    (row,) = collect(frame).to_dicts()
    return row


def pairwise_error(clusters: list[list[float]]) -> float:
    """√(Σ over tasks Σ over pairs of its rollouts (x_i - m)(x_j - m)) / N, times √(G / (G - 1))."""
    every = [score for cluster in clusters for score in cluster]
    mean = sum(every) / len(every)
    pairs = sum((one - mean) * (other - mean) for cluster in clusters for one in cluster for other in cluster)
    count = len(clusters)
    return sqrt(max(pairs, 0.0) * count / (count - 1)) / len(every)


@settings(deadline=None)
@given(clustered_scores)
def test_clustered_error_is_that_of_the_textbook(clusters: list[list[float]]) -> None:
    row = row_of(clustered_means(tasks_of(clusters)))
    every = [score for cluster in clusters for score in cluster]
    assert row["value"] == pytest.approx(fmean(every), abs=1e-12)
    assert row["se"] == pytest.approx(pairwise_error(clusters), rel=1e-7, abs=1e-6)
    assert row["tasks"] == len(clusters)
    if row["se"] > 1e-6:
        half = T_975[len(clusters) - 1] * row["se"]
        assert (row["low"], row["high"]) == pytest.approx((row["value"] - half, row["value"] + half))


@settings(deadline=None)
@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(scores, min_size=n, max_size=n), min_size=2, max_size=5)))
def test_of_tasks_with_as_many_rollouts_each_it_is_that_of_their_means(clusters: list[list[float]]) -> None:
    row = row_of(clustered_means(tasks_of(clusters)))
    means = list(map(fmean, clusters))
    assert row["se"] == pytest.approx(stdev(means) / sqrt(len(means)), rel=1e-9, abs=1e-12)


def test_by_hand() -> None:
    """Mean 3/5; T - w·m = 2 - 1.2, 1 - 0.6, 0 - 1.2; squares 0.64 + 0.16 + 1.44 = 2.24; √(3/2 · 2.24) / 5."""
    row = row_of(clustered_means(tasks_of([[1.0, 1.0], [1.0], [0.0, 0.0]])))
    assert (row["value"], row["se"]) == pytest.approx((0.6, sqrt(3.36) / 5))
    assert row["high"] == pytest.approx(0.6 + T_975[2] * sqrt(3.36) / 5)


@pytest.mark.parametrize(
    ("clusters", "value", "se"),
    [
        ([[0.1, 0.1, 0.1]], 0.1, None),
        ([[0.1, 0.1, 0.1], [0.1]], 0.1, 0.0),
        ([[0.0], [0.0]], 0.0, 0.0),
        ([[], [0.5]], 0.5, None),
        ([[], []], None, None),
    ],
    ids=["one task", "no task differs", "zeros", "one task with rollouts", "no rollouts"],
)
def test_no_interval(clusters: list[list[float]], value: float | None, se: float | None) -> None:
    tasks = tasks_of(clusters)
    row = row_of(clustered_means(tasks))
    assert (row["value"], row["se"]) == pytest.approx((value, se), abs=1e-12)
    assert (row["low"], row["high"]) == (None, None)
    assert collect(bootstrap_means(tasks)).rows() == [("mean", None, None)]


def test_no_task_has_no_rows_in_any_group() -> None:
    none = tasks_of([]).with_columns(a=pl.lit("x"))
    assert collect(clustered_means(none, ["a"])).is_empty()
    assert collect(bootstrap_means(none, ["a"])).is_empty()


def test_groups_nulls_too() -> None:
    tasks = tasks_of([[1.0], [0.0], [1.0, 1.0], [0.0]]).with_columns(a=pl.Series(["x", None, "x", None]))
    found = collect(clustered_means(tasks, ["a"]))
    assert found.select("a", "value", "tasks").rows() == [("x", 1.0, 2), (None, 0.0, 2)]
    assert collect(bootstrap_means(tasks, ["a"]))["a"].to_list() == ["x", None]


def slow_bootstrap(clusters: list[list[float]], draws: int, seed: int) -> tuple[float, float]:
    """Draws tasks one by one, with the same generator."""
    generator = np.random.Generator(np.random.PCG64(seed))
    means = []
    for _ in range(draws):
        drawn = [clusters[place] for place in generator.integers(0, len(clusters), size=len(clusters))]
        every = [score for cluster in drawn for score in cluster]
        means.append(sum(every) / len(every))
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


@settings(max_examples=20, deadline=None)
@given(clustered_scores, st.integers(0, 5), st.sampled_from([1 << 20, 7]))
def test_bootstrap_draws_whole_tasks(clusters: list[list[float]], seed: int, block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resampling, "BLOCK", block)
        row = row_of(bootstrap_means(tasks_of(clusters), draws=60, seed=seed))
    low, high = slow_bootstrap(clusters, 60, seed)
    if row["low"] is None:
        assert low == pytest.approx(high, abs=1e-9)
    else:
        assert (row["low"], row["high"]) == pytest.approx((low, high), abs=1e-12)


def test_order_of_rows_does_not_matter_and_the_seed_does() -> None:
    chance = random.Random(2)
    tasks = tasks_of([[chance.random() for _ in range(chance.randint(1, 5))] for _ in range(50)])
    mixed = collect(tasks).sample(fraction=1, shuffle=True, seed=3).lazy()
    assert collect(bootstrap_means(tasks)).equals(collect(bootstrap_means(mixed)))
    found, again = (collect(clustered_means(one.with_columns(a=1), ["a"])) for one in (tasks, mixed))
    assert again.select("value", "se").row(0) == pytest.approx(found.select("value", "se").row(0), rel=1e-14)
    assert not collect(bootstrap_means(tasks)).equals(collect(bootstrap_means(tasks, seed=1)))


def test_few_kinds_of_tasks_are_drawn_by_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(4)
    tasks = tasks_of([[chance.choice([0.0, 1.0])] * 2 for _ in range(300)])
    by_kind = row_of(bootstrap_means(tasks, draws=20_000))
    monkeypatch.setattr(resampling, "FEW", 1000)
    by_task = row_of(bootstrap_means(tasks, draws=20_000))
    textbook = row_of(clustered_means(tasks))
    for side in ("low", "high"):
        assert by_kind[side] == pytest.approx(by_task[side], abs=0.004)
        assert by_kind[side] == pytest.approx(textbook[side], abs=0.004)


def test_several_means_at_once() -> None:
    tasks = tasks_of([[1.0], [0.0, 1.0], [0.5]]).with_columns(
        other=pl.Series([None, 2.0, 4.0]), one=pl.Series([0, 1, 1])
    )
    means = {"mean": ("total", "weight"), "other": ("other", "one")}
    found = collect(clustered_means(tasks, means=means))
    assert found.select("mean", "value", "tasks").rows() == [("mean", 0.625, 3), ("other", 3.0, 2)]
    assert collect(bootstrap_means(tasks, means=means))["mean"].to_list() == ["mean", "other"]


def rollouts_of(rows: list[tuple[int, int, float | None]]) -> pl.LazyFrame:
    return pl.LazyFrame(
        rows, schema={"_ng_task_index": pl.Int64, "_ng_rollout_index": pl.Int64, "x": pl.Float64}, orient="row"
    )


def test_across_repeats() -> None:
    """Means 0.5, 1, 0 of the repeats: 0.5 ± t(2) · 0.5 / √3."""
    rows = [(0, 0, 0.0), (1, 0, 1.0), (0, 1, 1.0), (1, 1, None), (0, 2, 0.0), (1, 2, 0.0)]
    row = row_of(across_repeats(rollouts_of(rows), value="x"))
    half = T_975[2] * 0.5 / sqrt(3)
    assert row == pytest.approx(
        {"value": 0.5, "se": 0.5 / sqrt(3), "low": 0.5 - half, "high": 0.5 + half, "repeats": 3, "uneven": True}
    )


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        ([(0, 0, 0.5), (1, 0, 1.0)], (0.75, None, None, None, 1, False)),
        ([(0, 0, 0.5), (0, 1, 0.5)], (0.5, 0.0, None, None, 2, False)),
    ],
    ids=["one repeat", "no repeat differs"],
)
def test_no_interval_across_repeats(
    rows: list[tuple[int, int, float | None]], wanted: tuple[float | None, ...]
) -> None:
    assert collect(across_repeats(rollouts_of(rows), value="x")).rows() == [wanted]
