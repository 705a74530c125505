"""What each metric of a run looks like."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from pipeline import names
from pipeline.columns import by_columns, measured
from pipeline.groups import need_apart, number, per_group
from pipeline.profile.expressions import column, finite, metrics_of, unsigned_zero
from pipeline.run import Run

SCHEMA = {
    "metric": pl.String,
    "rollouts": pl.UInt32,
    "coverage": pl.Float64,
    "tasks": pl.UInt32,
    "mean": pl.Float64,
    "std": pl.Float64,
    "min": pl.Float64,
    "median": pl.Float64,
    "max": pl.Float64,
}
FIGURES = "_figures"


def metric_table(run: Run, *, by: Sequence[str] = ()) -> pl.LazyFrame:
    """What each metric looks like: how many rollouts have it, mean, std, min, median, max; with --by in each group.

    Over the measured rollouts that have the metric.

    Columns: those of `by`; `metric` (String); `rollouts` (UInt32): those that have it; `coverage` (Float64): their
    share of the measured rollouts; `tasks` (UInt32): those with such a rollout; `mean`, `std`, `min`, `median`, `max`
    (Float64): over rollouts; std is the sample's, null for one.

    Args:
        run: What is asked about.
        by: Columns that make a group; metrics that a group has not are there with 0 rollouts.

    Raises:
        UsageError: There is no column of `by`.
    """
    rollouts = measured(run)
    group = by_columns(rollouts, by)
    need_apart(group, SCHEMA)
    metrics = metrics_of(rollouts.collect_schema())
    if not metrics:
        return pl.LazyFrame(schema={**rollouts.select(map(column, group)).collect_schema(), **SCHEMA})
    table = per_group(rollouts, group, **{FIGURES: pl.concat_list(map(_figures, metrics))})
    return table.explode(FIGURES).unnest(FIGURES)


def _figures(metric: str) -> pl.Expr:
    """The figures of a metric as a struct."""
    values, there = number(metric), column(metric).is_not_null()
    figures = {
        "metric": pl.lit(metric),
        "rollouts": values.count(),
        "coverage": values.count() / pl.len(),
        "tasks": pl.col(names.TASK).filter(there).n_unique(),
        "mean": finite(values.mean()),
        "std": finite((values - values.first(ignore_nulls=True)).std(ddof=1)),
        "min": values.min(),
        "median": finite(unsigned_zero(values.median())),
        "max": values.max(),
    }
    return pl.struct(expression.alias(name) for name, expression in figures.items())
