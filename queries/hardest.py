"""The tasks that go worst."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from pipeline import names
from pipeline.columns import by_columns, scored
from pipeline.errors import UsageError
from pipeline.groups import mean_tokens, per_group, together, within
from pipeline.profile.expressions import column
from pipeline.run import Run

MOST_ROWS = 2**32
"""No frame has more, and Polars takes no number beyond 128 bits."""


def hardest(run: Run, *, threshold: float = 1.0, n: int = 20, by: Sequence[str] = ()) -> pl.LazyFrame:
    """The n tasks with the lowest mean reward, lowest first, n=0 gives all; with --by in each group.

    Over the scored rollouts of each task and agent; of equal means, the task with more rollouts comes first. With
    `by` a task is in each group that it has rollouts in, with these only.

    Columns: those of `by`; `_ng_task_index` (Int64), `_agent` (String); `mean_reward` (Float64); `rollouts`,
    `passed` (UInt32): scored rollouts and those with reward >= threshold; `pass_rate` (Float64);
    `mean_output_tokens` (Float64) over those that have them, `rollouts_with_tokens` (UInt32) of them.

    Args:
        run: What is asked about.
        threshold: The reward from which on a rollout passes.
        n: How many tasks, in each group.
        by: Columns that make a group; the answer is sorted by them first.

    Raises:
        UsageError: The run has no rewards, n is below 0, or there is no column of `by`.
    """
    if n < 0:
        raise UsageError(f"n={n}: how many tasks?", hint="n=0 gives all.")
    rollouts = scored(run)
    group = by_columns(rollouts, by)
    passed = pl.col(names.REWARD) >= threshold
    tasks = per_group(
        rollouts,
        within(group),
        mean_reward=pl.col(names.REWARD).mean(),
        rollouts=pl.len(),
        passed=passed.sum(),
        pass_rate=passed.mean(),
        **mean_tokens(rollouts),
    )
    ranked = tasks.sort("mean_reward", "rollouts", descending=(False, True), nulls_last=True, maintain_order=True)
    place = pl.int_range(pl.len())
    place = place.over(list(map(column, group))) if group else place
    return together(ranked, group).filter(place < min(n or MOST_ROWS, MOST_ROWS))
