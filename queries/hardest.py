"""The tasks that go worst."""

from __future__ import annotations

import polars as pl

from pipeline import names
from pipeline.errors import UsageError
from pipeline.run import Run
from queries.columns import scored
from queries.figures import GROUP, mean_tokens, per_group


def hardest(run: Run, *, threshold: float = 1.0, n: int = 20) -> pl.LazyFrame:
    """The n tasks with the lowest mean reward, lowest first; n=0 gives all.

    Over the scored rollouts of each task and agent; of equal means, the task with more rollouts comes first.

    Columns: `_ng_task_index` (Int64), `_agent` (String); `mean_reward` (Float64); `rollouts`, `passed` (UInt32):
    scored rollouts and those with reward >= threshold; `pass_rate` (Float64); `mean_output_tokens` (Float64) over
    those that have them, `rollouts_with_tokens` (UInt32) of them.

    Args:
        run: What is asked about.
        threshold: The reward from which on a rollout passes.
        n: How many tasks.

    Raises:
        UsageError: The run has no rewards, or n is below 0.
    """
    if n < 0:
        raise UsageError(f"n={n}: how many tasks?", hint="n=0 gives all.")
    rollouts = scored(run)
    passed = pl.col(names.REWARD) >= threshold
    tasks = per_group(
        rollouts,
        GROUP,
        mean_reward=pl.col(names.REWARD).mean(),
        rollouts=pl.len(),
        passed=passed.sum(),
        pass_rate=passed.mean(),
        **mean_tokens(rollouts),
    ).sort("mean_reward", "rollouts", *GROUP, descending=(False, True, False, False), nulls_last=True)
    return tasks.head(n) if n else tasks
