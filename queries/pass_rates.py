"""How often each task is passed."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from pipeline import names
from pipeline.run import Run
from queries.columns import by_columns, scored


def pass_rates(run: Run, *, threshold: float = 1.0, by: Sequence[str] = ()) -> pl.LazyFrame:
    """How often each task is passed: reward >= threshold; with --by each group instead.

    Columns: `_ng_task_index` and `_agent`, or the columns of `by`; `tasks` (UInt32, only with `by`), `rollouts`,
    `passed` (UInt32): scored rollouts and those that pass; `pass_rate`, `mean_reward` (Float64): over rollouts.
    """
    rollouts = scored(run)
    group = by_columns(rollouts, by) or [names.TASK, "_agent"]
    passed = pl.col(names.REWARD) >= threshold
    tasks = [pl.col(names.TASK).n_unique().alias("tasks")] if by else []
    return (
        rollouts.group_by(group)
        .agg(
            *tasks,
            rollouts=pl.len(),
            passed=passed.sum(),
            pass_rate=passed.mean(),
            mean_reward=pl.col(names.REWARD).mean(),
        )
        .sort(group, nulls_last=True)
    )
