"""How much of the spread of scores is between tasks, and how much within them."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from pipeline import names
from pipeline.groups import per_group, together
from pipeline.profile.expressions import column

COMPONENTS = ("variance between tasks", "variance within tasks", "ICC")


def variance_components(tasks: pl.LazyFrame, by: Sequence[str] = ()) -> pl.LazyFrame:
    """The one-way random effects analysis of variance of scores by task, for tasks of any sizes.

    With a tasks of n_i scores, N in all: MSB = Σ n_i (m_i - m)² / (a - 1), MSW = Σ Σ (x - m_i)² / (N - a),
    n0 = (N - Σ n_i² / N) / (a - 1); the variance within tasks is MSW, the one between them (MSB - MSW) / n0, or 0
    where that is below 0; the intraclass correlation is ICC = between / (between + within): how alike two rollouts
    of one task are.

    Source: S. R. Searle, G. Casella and C. E. McCulloch, Variance Components, 1992, section 3.6 (analysis of variance
    estimators from unbalanced data, with this n0).

    Args:
        tasks: As `by_task` gives them.
        by: Columns that make a group.

    Returns:
        A row a group and component, by group: `by`; `figure` (String, in the order of `COMPONENTS`); `value`
        (Float64); `tasks`, `rollouts` (UInt32); `note` (String): why there is no value, or what was done to it.
    """
    size, distance = pl.col("rollouts").cast(pl.Float64), pl.col("mean_score")
    mean = pl.col("score").sum() / size.sum()
    raw = per_group(
        tasks,
        by,
        _between=(size * (distance - mean) ** 2).sum(),
        _within=pl.col("squares").sum(),
        _sizes=(size * size).sum(),
        _pairs=pl.len(),
        tasks=pl.col(names.TASK).n_unique(),
        rollouts=pl.col("rollouts").sum(),
        _differ=pl.col("differs").any() | (distance.max() > distance.min()),
    )
    return raw.pipe(_with_components).pipe(_as_rows, by)


def _with_components(raw: pl.LazyFrame) -> pl.LazyFrame:
    a, n = pl.col("_pairs").cast(pl.Float64), pl.col("rollouts").cast(pl.Float64)
    reason = (
        pl.when(a < 2)  # noqa: PLR2004 - a spread takes two
        .then(pl.lit("fewer than two tasks"))
        .when(n == a)
        .then(pl.lit("no task has two rollouts"))
        .when(~pl.col("_differ"))
        .then(pl.lit("no score differs"))
    )
    estimable = raw.with_columns(_reason=reason).with_columns(
        _msb=pl.col("_between") / (a - 1), _msw=pl.col("_within") / (n - a), _n0=(n - pl.col("_sizes") / n) / (a - 1)
    )
    raw_between = (pl.col("_msb") - pl.col("_msw")) / pl.col("_n0")
    return estimable.with_columns(_raw=raw_between, _kept=raw_between.clip(lower_bound=0.0)).with_columns(
        _icc=pl.col("_kept") / (pl.col("_kept") + pl.col("_msw"))
    )


def _as_rows(estimable: pl.LazyFrame, by: Sequence[str]) -> pl.LazyFrame:
    known, below = pl.col("_reason").is_null(), pl.col("_raw") < 0
    several = pl.col("_pairs") > pl.col("tasks")
    apart = pl.when(several).then(pl.format("each of {} pairs of task and agent is a task of its own here", "_pairs"))
    why = pl.coalesce("_reason", apart)
    said = pl.when(known & below).then(pl.lit("the estimate is below 0")).otherwise(why)
    notes = {"_kept": said, "_msw": why, "_icc": said}
    rows = [
        estimable.select(
            *map(column, by),
            figure=pl.lit(figure),
            value=pl.when(known).then(value),
            tasks="tasks",
            rollouts="rollouts",
            note=notes[value],
        )
        for figure, value in zip(COMPONENTS, notes, strict=True)
    ]
    return together(pl.concat(rows), by)
