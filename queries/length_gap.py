"""Whether passing rollouts of a task are longer than failing ones."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from pipeline import names
from pipeline.columns import by_columns, scored
from pipeline.groups import need_apart, number, per_group, together, within
from pipeline.profile.expressions import column
from pipeline.run import Run

FIGURES = ("passing", "failing", "gap", "passing_rollouts", "failing_rollouts")


def length_gap(
    run: Run, *, threshold: float = 1.0, field: str = "output_tokens", by: Sequence[str] = ()
) -> pl.LazyFrame:
    """How much longer passing rollouts of a task are than failing ones, where it has both; largest first.

    Over the scored rollouts that have the field, within each task and agent; with `by` within each of their groups,
    and the largest first in each group.

    Columns: those of `by`; `_ng_task_index` (Int64), `_agent` (String); `passing`, `failing` (Float64): mean
    counts of the rollouts with reward >= threshold and of the others; `gap` (Float64): passing - failing;
    `passing_rollouts`, `failing_rollouts` (UInt32): how many these are.

    Args:
        run: What is asked about.
        threshold: The reward from which on a rollout passes.
        field: The metric that is the length.
        by: Columns that make a group; the answer is sorted by them first.

    Raises:
        UsageError: There is no such column.
    """
    rollouts = scored(run, field)
    group = by_columns(rollouts, by)
    need_apart(group, FIGURES)
    cells = within(group)
    passed = pl.col(names.REWARD) >= threshold
    return (
        per_group(
            rollouts,
            cells,
            passing=number(field).filter(passed).mean(),
            failing=number(field).filter(~passed).mean(),
            passing_rollouts=passed.sum(),
            failing_rollouts=(~passed).sum(),
        )
        .filter(pl.col("passing_rollouts") > 0, pl.col("failing_rollouts") > 0)
        .with_columns(gap=pl.col("passing") - pl.col("failing"))
        .select(*map(column, cells), *FIGURES)
        .sort("gap", descending=True, nulls_last=True, maintain_order=True)
        .pipe(together, group)
    )
