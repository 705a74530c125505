"""Means over rollouts that are alike within a task, and how far they may be off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from pipeline.groups import number, per_group, together
from pipeline.profile.expressions import column
from pipeline.profile.student import t_quantiles
from pipeline.rounding import NOISE

Means = Mapping[str, tuple[str, str]]
"""A name for each mean, and the two columns that it is the ratio of the sums of: totals and weights of tasks."""

MEAN: Means = {"mean": ("total", "weight")}


def clustered_means(
    tasks: pl.LazyFrame, by: Sequence[str] = (), *, means: Means = MEAN, confidence: float = 0.95
) -> pl.LazyFrame:
    """Means over rollouts that are alike within a task, with t intervals that know it.

    The mean is m = Σ T / Σ w over tasks with totals T and weights w (say, the rewards and the number of a task's
    rollouts; differences and ones). Its standard error is √(G / (G - 1) · Σ (T - w·m)²) / Σ w for G tasks with a
    weight, the interval m ± t(G - 1) · se. With one weight for all tasks this is the standard error of the mean of
    task means, std / √G.

    Source: the linearised variance of a ratio of cluster totals (W. G. Cochran, Sampling Techniques, 3rd ed. 1977,
    section 9A), which is the cluster-robust variance of a regression on a constant with the correction G / (G - 1)
    (A. C. Cameron and D. L. Miller, A Practitioner's Guide to Cluster-Robust Inference, J. Human Resources 50, 2015);
    for scores of language models: E. Miller, Adding Error Bars to Evals, arXiv 2411.00640, section 2.2.

    Args:
        tasks: One row a task in each group: the columns of `by` and of the means; a task without a weight (0 or
            null) has no part in that mean.
        by: Columns that make a group.
        means: What to work out.
        confidence: How much of the distribution an interval covers.

    Returns:
        Rows by group, then in the order of `means`: `by`; `mean` (String); `value`, `se`, `low`, `high` (Float64):
        se is null for fewer than two tasks, the interval too where no task differs; `tasks` (UInt32) with a weight.
    """
    figures = {f"{part}/{name}": one for name, pair in means.items() for part, one in _clustered_parts(*pair).items()}
    raw = per_group(tasks, by, **figures)
    upper = (1 + confidence) / 2
    return together(pl.concat([_clustered(raw, by, name, upper) for name in means]), by)


def with_limits(rows: pl.LazyFrame, units: str, upper: float) -> pl.LazyFrame:
    """Adds the t interval of `value` as `low` and `high` (Float64), where its standard error `se` is a spread.

    Args:
        rows: Rows with `value`, `se` and the count of what the value is the mean of.
        units: The column of that count; the interval has one degree of freedom less.
        upper: The quantile of its upper end.
    """
    value, se = pl.col("value"), pl.col("se")
    half = t_quantiles(pl.col(units), upper) * se
    differs = pl.when(se > NOISE * value.abs())
    return rows.with_columns(_half=half).with_columns(
        low=differs.then(value - pl.col("_half")), high=differs.then(value + pl.col("_half"))
    )


def _clustered_parts(total: str, weight: str) -> dict[str, pl.Expr]:
    sums, weights = number(total).fill_null(0.0), number(weight).fill_null(0.0)
    mean = sums.sum() / weights.sum()
    return {
        "value": mean,
        "squares": ((sums - weights * mean) ** 2).sum(),
        "weight": weights.sum(),
        "tasks": (weights > 0).sum(),
    }


def _clustered(raw: pl.LazyFrame, by: Sequence[str], name: str, upper: float) -> pl.LazyFrame:
    """The rows of one mean."""
    value, squares, weight, tasks = (column(f"{part}/{name}") for part in ("value", "squares", "weight", "tasks"))
    several = pl.when(tasks > 1)
    parts = raw.select(
        *map(column, by),
        mean=pl.lit(name, pl.String),
        value=pl.when(tasks > 0).then(value),
        se=several.then((tasks / (tasks.cast(pl.Int64) - 1) * squares).sqrt() / weight),
        tasks=tasks,
    )
    return with_limits(parts, "tasks", upper).select(*map(column, by), "mean", "value", "se", "low", "high", "tasks")
