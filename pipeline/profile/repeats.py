"""One row an agent and rollout index: how much the figures move from repeat to repeat."""

from __future__ import annotations

import polars as pl

from pipeline import names
from pipeline.profile.expressions import metrics_of, spread_statistics

REPEAT = ("_agent_order", names.ROLLOUT)


def profile_repeats(frame: pl.LazyFrame) -> pl.LazyFrame:
    """The repeat entries of agents with measured rollouts at more than one index, by agent, then index.

    Columns: `_agent` (String), `_agent_order` (UInt32), `_ng_rollout_index`, `sample_count`, `missing_count`
    (Int64): tasks of the agent with a measured rollout but none at that index; then `STAT/METRIC` (Float64) over
    the tasks at that index: mean, median, std, sem, min, max, p25, p75, ci_low_95, ci_high_95.

    Args:
        frame: As `align` gives it: sorted by task.
    """
    measured = frame.filter(pl.col("_measured"))
    tasks = measured.group_by("_agent_order").agg(
        _tasks=pl.col(names.TASK).n_unique().cast(pl.Int64), _repeats=pl.col(names.ROLLOUT).n_unique()
    )
    entries = measured.group_by(REPEAT).agg(pl.col("_agent").first(), sample_count=pl.len().cast(pl.Int64))
    return (
        entries.join(tasks, on="_agent_order")
        .filter(pl.col("_repeats") > 1)
        .with_columns(missing_count=pl.col("_tasks") - pl.col("sample_count"))
        .drop("_tasks", "_repeats")
        .join(measured.pipe_with_schema(_figures), on=REPEAT)
        .sort(REPEAT)
    )


def _figures(measured: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
    values = [(metric, "{}/" + metric) for metric in metrics_of(schema)]
    in_order = measured.sort(*REPEAT, names.TASK)  # else some digits depend on the number of threads
    return spread_statistics(in_order, REPEAT, values, names.AT_REPEAT)
