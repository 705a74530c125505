"""Votes → one row a task of an agent, which is what figures on repeated rollouts are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from pipeline import names
from pipeline.groups import number, per_group, within


def by_task(votes: pl.LazyFrame, group: Sequence[str] = ()) -> pl.LazyFrame:
    """The tasks of each agent in each group, sorted by these.

    Columns: those of the group, `_ng_task_index`, `_agent`; `rollouts`, `passed` (UInt32): those that vote, and that
    pass; `score` (Float64): their sum; `mean_score` (Float64); `differs` (Boolean): whether any two scores differ;
    `squares` (Float64): the squared distances of the scores from their mean, added up.

    Args:
        votes: As `voting` gives them.
        group: Columns that make groups.
    """
    score = pl.col("_score")
    low, high, count = score.min(), score.max(), pl.len()
    return per_group(
        votes,
        within(group),
        rollouts=count,
        passed=pl.col("_passed").sum(),
        score=score.sum(),
        mean_score=score.mean().clip(low, high),
        differs=high > low,
        squares=pl.when(high > low).then(score.var(ddof=0) * count).otherwise(0.0),
    )


def with_enough(tasks: pl.LazyFrame, numbers: Iterable[int]) -> pl.LazyFrame:
    """Adds `enough K` (Float64) for each number: 1 for a task with as many rollouts, else 0."""
    return tasks.with_columns((pl.col("rollouts") >= k).cast(pl.Float64).alias(enough(k)) for k in numbers)


def enough(k: int) -> str:
    """The column that `with_enough` adds for a number."""
    return f"enough {k}"


def clusters(tasks: pl.LazyFrame, group: Sequence[str], sums: Sequence[str]) -> pl.LazyFrame:
    """One row a task: where several agents have it in one group, their figures are added up.

    Columns: those of the group, `_ng_task_index`, then the sums (Float64).

    Args:
        tasks: As `by_task` gives them.
        group: Columns that make groups.
        sums: The columns to add up; null counts as 0.
    """
    return per_group(tasks, list(dict.fromkeys((*group, names.TASK))), **{name: number(name).sum() for name in sums})
