"""One row an agent."""

from __future__ import annotations

import polars as pl

from pipeline import names
from pipeline.profile.expressions import five_statistics, spread_statistics

AGENT = ("_agent_order",)
ACROSS = "_across_repeats/"


def profile_agents(frame: pl.LazyFrame, repeats: pl.LazyFrame, *, counts: bool = False) -> pl.LazyFrame:
    """The agent entries by name, fully masked agents last.

    Columns: `_agent_order` (UInt32), `_agent` (String); the coverage (Int64): measured and masked rollouts, measured
    and fully masked tasks, null without masked rollouts; `STAT/METRIC` (Float64) over all measured rollouts of the
    agent; `STAT_across_repeats/mean/METRIC` (Float64): the spread of the agent's per-repeat means (mean, median,
    std, min, max, se, ci_low_95, ci_high_95), null for agents with one repeat.

    Args:
        frame: As `align` gives it.
        repeats: As `profile_repeats` gives them.
        counts: Whether `count/METRIC` (how many rollouts have the number) follows the statistics.
    """
    measured = frame.filter(pl.col("_measured")).sort(AGENT, maintain_order=True)
    return (
        _coverage(frame)
        .join(five_statistics(measured, AGENT, counts=counts), on=AGENT, how="left", maintain_order="left")
        .join(repeats.pipe_with_schema(_across_repeats), on=AGENT, how="left", maintain_order="left")
        .sort(pl.col("_measured_rollouts") == 0, *AGENT)
        .drop("_measured_rollouts")
    )


def _across_repeats(repeats: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
    means = [name for name in schema if name.startswith("mean/")]
    return spread_statistics(repeats, AGENT, [(name, "{}" + ACROSS + name) for name in means], names.ACROSS_REPEATS)


def _coverage(frame: pl.LazyFrame) -> pl.LazyFrame:
    """What each agent with finished rollouts has measured, and what masks left out."""
    masked_out = pl.col("_finished") & ~pl.col("_measured")
    tasks = (
        frame.filter(pl.col("_finished"))
        .group_by(*AGENT, names.TASK)
        .agg(pl.col("_agent").first(), _measured=pl.col("_measured").sum(), _masked=masked_out.sum())
    )
    measured, masked = pl.col("_measured"), pl.col("_masked")
    figures = (measured.sum(), masked.sum(), (measured > 0).sum(), ((measured == 0) & (masked > 0)).sum())
    coverage = {
        name: pl.when(masked.sum() > 0).then(figure.cast(pl.Int64))
        for name, figure in zip(names.COVERAGE, figures, strict=True)
    }
    return tasks.group_by(AGENT).agg(pl.col("_agent").first(), _measured_rollouts=measured.sum(), **coverage)
