"""The repeats that are to be planned: which row each is made from, and its rollout index."""

from __future__ import annotations

import polars as pl

from pipeline import names
from pipeline.groups import GROUP
from pipeline.run import Run


def new_repeats(run: Run, plan: pl.LazyFrame) -> pl.LazyFrame:
    """The chosen repeats of a plan, a row a task and agent, sorted by both.

    They are made from the row of the group's lowest rollout index. Rollout indices go on from the highest that the task
    has anywhere over all agents: in inputs, rollouts or failures. Of several agents of a task the first by name comes
    first.

    Columns: `_ng_task_index`, `_agent`; `_ng_rollout_index` (Int64) of the row that they are made from, and its place
    as `_source`, `_line`, `_offset`, `_length`; `more` (Int64): how many; `first` (Int64): the rollout index of the
    first.

    Args:
        run: What is topped up.
        plan: As `within_budget` gives it.
    """
    chosen = plan.filter("chosen").select(*GROUP, "more")
    rows = run.aligned.frame.select(
        *names.KEY, "_agent", *(pl.col(f"_input{column}").alias(column) for column in names.PLACE)
    ).unique(GROUP, keep="first", maintain_order=True)
    found = chosen.join(rows, on=GROUP, how="left", nulls_equal=True, maintain_order="left")
    before = pl.col("more").cum_sum().over(names.TASK) - pl.col("more")
    numbered = found.join(_highest(run), on=names.TASK, how="left", maintain_order="left")
    return numbered.with_columns(first=pl.col("_highest") + 1 + before).drop("_highest")


def _highest(run: Run) -> pl.LazyFrame:
    """The highest rollout index of each task."""
    planned, failed = (frame.filter(pl.col("_problem").is_null()) for frame in (run.inputs, run.failures))
    keys = pl.concat([frame.select(names.KEY) for frame in (planned, failed, run.as_read)])
    return keys.group_by(names.TASK).agg(_highest=pl.col(names.ROLLOUT).max())
