"""Whether passing rollouts of a task are longer than failing ones."""

from __future__ import annotations

import polars as pl

from pipeline import names
from pipeline.run import Run
from queries.columns import scored
from queries.figures import GROUP, number, per_group


def length_gap(run: Run, *, threshold: float = 1.0, field: str = "output_tokens") -> pl.LazyFrame:
    """How much longer passing rollouts of a task are than failing ones, where it has both; largest first.

    Over the scored rollouts that have the field, within each task and agent.

    Columns: `_ng_task_index` (Int64), `_agent` (String); `passing`, `failing` (Float64): mean counts of the rollouts
    with reward >= threshold and of the others; `gap` (Float64): passing - failing; `passing_rollouts`,
    `failing_rollouts` (UInt32): how many these are.

    Args:
        run: What is asked about.
        threshold: The reward from which on a rollout passes.
        field: The metric that is the length.

    Raises:
        UsageError: There is no such column.
    """
    passed = pl.col(names.REWARD) >= threshold
    return (
        per_group(
            scored(run, field),
            GROUP,
            passing=number(field).filter(passed).mean(),
            failing=number(field).filter(~passed).mean(),
            passing_rollouts=passed.sum(),
            failing_rollouts=(~passed).sum(),
        )
        .filter(pl.col("passing_rollouts") > 0, pl.col("failing_rollouts") > 0)
        .with_columns(gap=pl.col("passing") - pl.col("failing"))
        .select(*GROUP, "passing", "failing", "gap", "passing_rollouts", "failing_rollouts")
        .sort("gap", *GROUP, descending=(True, False, False), nulls_last=True)
    )
