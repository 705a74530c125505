"""Whether longer rollouts have higher rewards: within tasks, between tasks, and over everything."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from pipeline import names
from pipeline.columns import by_columns, scored
from pipeline.groups import GROUP, aliased, aliases, need_apart, number, own_names, per_group, together
from pipeline.profile.expressions import finite
from pipeline.run import Run

ROUNDING = 1e-12
"""Task means that differ by less than this share differ by rounding only."""
SCOPES = ("within tasks, mean of per-task", "within tasks, pooled", "between tasks", "pooled over everything")
COUNTS = ("tasks", "rollouts", "tasks_left_out")
OF_TASKS = ("rollouts", "mean_reward", "mean_tokens", "correlation")


def token_correlation(
    run: Run, *, field: str = "output_tokens", per_task: bool = False, by: Sequence[str] = ()
) -> pl.LazyFrame:
    """Pearson correlation of reward and a token count, within and between tasks; with per_task=true of each task.

    Over the scored rollouts that have the field; a task is a task of an agent. The four scopes can differ in sign. With
    `by` each group has the four, over its rollouts only.

    Columns: those of `by`; `scope` (String): per-task correlations averaged, deviations from the task's means
    pooled, task means, all rollouts; `correlation` (Float64), null where rewards or counts do not differ; `tasks`,
    `rollouts` (UInt32): what it is over; `tasks_left_out` (UInt32): tasks whose rewards or counts do not differ
    have no correlation to average, those of one rollout no deviation to pool.
    With `per_task`: those of `by`; `_ng_task_index`, `_agent`, `rollouts` (UInt32), `mean_reward`, `mean_tokens`,
    `correlation` (Float64, null where rewards or counts do not differ).

    Args:
        run: What is asked about.
        field: The metric that is the length.
        per_task: Whether to give one row a task instead.
        by: Columns that make a group; the answer is sorted by them first.

    Raises:
        UsageError: There is no such column.
    """
    rollouts = scored(run, field)
    group = by_columns(rollouts, by)
    need_apart(group, ("scope", *COUNTS, *OF_TASKS))
    rows = rollouts.select(*aliased(group), *GROUP, x=number(names.REWARD), y=number(field))
    keys = aliases(group)
    tasks = per_group(rows, [*keys, *GROUP], rollouts=pl.len(), **_moments(), x=_mean("x"), y=_mean("y"))
    tasks = tasks.with_columns(correlation=_correlation(), mean_reward="x", mean_tokens="y")
    if per_task:
        return tasks.select(*own_names(group), *(name for name in GROUP if name not in group), *OF_TASKS)
    found = pl.concat(
        figures.select(*keys, pl.lit(scope).alias("scope"), "correlation", *COUNTS)
        for scope, figures in zip(SCOPES, _scopes(rows, tasks, keys), strict=True)
    )
    if keys:
        return together(found, keys).select(*own_names(group), "scope", "correlation", *COUNTS)
    scopes = pl.LazyFrame({"scope": SCOPES}, schema={"scope": pl.String})
    return scopes.join(found, on="scope", how="left", maintain_order="left").with_columns(pl.col(COUNTS).fill_null(0))


def _scopes(rows: pl.LazyFrame, tasks: pl.LazyFrame, by: Sequence[str]) -> list[pl.LazyFrame]:
    """The figures of each scope in each group: the correlation, or what it is worked out from, and what it is over."""
    none, rollouts, known = pl.lit(0, pl.UInt32), pl.col("rollouts"), pl.col("correlation").is_not_null()
    several = rollouts > 1
    averaged = {"correlation": pl.col("correlation").mean(), "tasks": known.sum(), "tasks_left_out": (~known).sum()}
    pooled = {
        **{name: pl.col(name).filter(several).sum() for name in ("xx", "yy", "xy")},
        **{name: pl.col(name).any() for name in ("x_differs", "y_differs")},
    }
    counted = {"tasks": several.sum(), "rollouts": rollouts.filter(several).sum(), "tasks_left_out": (~several).sum()}
    between = {"tasks": pl.len(), "rollouts": rollouts.sum(), "tasks_left_out": none.first()}
    everything = {"tasks": pl.struct(GROUP).n_unique(), "rollouts": pl.len(), "tasks_left_out": none.first()}
    return [
        per_group(tasks, by, **averaged, rollouts=rollouts.filter(known).sum()),
        per_group(tasks, by, **pooled, **counted).with_columns(correlation=_correlation()),
        per_group(tasks, by, **_moments(ROUNDING), **between).with_columns(correlation=_correlation()),
        per_group(rows, by, **_moments(), **everything).with_columns(correlation=_correlation()),
    ]


def _deviation(name: str) -> pl.Expr:
    """Distances from the mean, by way of the first value: exactly 0 where all are the same."""
    distance = pl.col(name) - pl.col(name).first()
    return distance - distance.mean()


def _mean(name: str) -> pl.Expr:
    """The mean, exactly the value where all are the same."""
    return pl.col(name).mean().clip(pl.col(name).min(), pl.col(name).max())


def _moments(slack: float = 0.0) -> dict[str, pl.Expr]:
    """Sums of products of deviations, and whether values differ: by their range, never by a std that was rounded."""
    x, y = _deviation("x"), _deviation("y")
    sums = {"xx": (x * x).sum(), "yy": (y * y).sum(), "xy": (x * y).sum()}
    ranges = {name: pl.col(name).max() - pl.col(name).min() for name in ("x", "y")}
    return sums | {f"{name}_differs": span > slack * pl.col(name).abs().max() for name, span in ranges.items()}


def _correlation() -> pl.Expr:
    coefficient = pl.col("xy") / (pl.col("xx").sqrt() * pl.col("yy").sqrt())
    return pl.when(pl.col("x_differs") & pl.col("y_differs")).then(finite(coefficient).clip(-1.0, 1.0))
