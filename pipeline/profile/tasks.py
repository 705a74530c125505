"""One row a task, or a task and agent where any task was run by several."""

from __future__ import annotations

import polars as pl

from pipeline import names
from pipeline.profile.expressions import column, five_statistics, metrics_of

UNIT = (names.TASK, "_row_agent")


def profile_tasks(frame: pl.LazyFrame, *, counts: bool = False) -> pl.LazyFrame:
    """The profile rows, by task index, then agent.

    Columns: `_ng_task_index`, `_row_agent`; `STAT/METRIC` (Float64) statistic by statistic; `_agent` (String);
    `_input_source`, `_input_line`, `_input_offset`, `_input_length`: the place of the sample; `num_rollouts`
    (Int64), `rollout_infos` (List of Struct: `rollout_id`, both indices, `reward`, the other metrics), by rollout
    index; `expected_num_rollouts`, `missing_num_rollouts` (Int64), `reward_profile_completion_pct` (Float64, 0-100).

    Args:
        frame: As `align` gives it: sorted by task and rollout.
        counts: Whether `count/METRIC` (how many rollouts have the number) follows the statistics.
    """
    measured = frame.filter(pl.col("_measured")).sort(UNIT, maintain_order=True)
    figures = five_statistics(measured, UNIT, counts=counts)
    expected = (
        frame.filter(~pl.col("_finished") | pl.col("_measured"))
        .group_by(UNIT)
        .agg(expected_num_rollouts=pl.len().cast(pl.Int64))
    )
    done, planned = pl.col("num_rollouts"), pl.col("expected_num_rollouts")
    return (
        figures.join(measured.pipe_with_schema(_rows), on=UNIT, maintain_order="left")
        .join(expected, on=UNIT, maintain_order="left")
        .with_columns(missing_num_rollouts=planned - done, reward_profile_completion_pct=100.0 * done / planned)
    )


def _rows(measured: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
    return measured.group_by(UNIT, maintain_order=True).agg(
        pl.col("_agent", *names.INPUT_PLACE).first(),
        num_rollouts=pl.len().cast(pl.Int64),
        rollout_infos=_rollout_info(metrics_of(schema)),
    )


def _rollout_info(metrics: list[str]) -> pl.Expr:
    """What a profile row says of each of its rollouts."""
    task, rollout = (pl.col(name) for name in names.KEY)
    identity = pl.concat_str(task, pl.lit(":"), rollout).alias(names.ROLLOUT_ID)
    rewards_first = sorted(metrics, key=lambda metric: metric != names.REWARD)
    return pl.struct(identity, task, rollout, *map(column, rewards_first))
