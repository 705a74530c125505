"""How often each task is passed."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from pipeline import names
from pipeline.columns import by_columns, scored
from pipeline.groups import GROUP, per_group
from pipeline.run import Run


def pass_rates(run: Run, *, threshold: float = 1.0, by: Sequence[str] = ()) -> pl.LazyFrame:
    """How often each task is passed: reward >= threshold; with --by each group instead.

    Columns: `_ng_task_index` and `_agent`, or the columns of `by`; `tasks` (UInt32, only with `by`), `rollouts`,
    `passed` (UInt32): scored rollouts and those that pass; `pass_rate`, `mean_reward` (Float64): over rollouts.

    Args:
        run: What is asked about; masked and unscored rollouts have no vote.
        threshold: The reward from which on a rollout passes.
        by: Columns that make a group.

    Raises:
        UsageError: The run has no rewards, or there is no column of `by`.
    """
    rollouts = scored(run)
    group = by_columns(rollouts, by)
    passed = pl.col(names.REWARD) >= threshold
    tasks = {"tasks": pl.col(names.TASK).n_unique()} if group else {}
    return per_group(
        rollouts,
        group or GROUP,
        **tasks,
        rollouts=pl.len(),
        passed=passed.sum(),
        pass_rate=passed.mean(),
        mean_reward=pl.col(names.REWARD).mean(),
    )
