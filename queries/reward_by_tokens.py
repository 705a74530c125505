"""How the reward goes with the length of rollouts, bin by bin."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from pipeline import names
from pipeline.clustered import clustered_means
from pipeline.columns import by_columns, scored
from pipeline.errors import UsageError
from pipeline.groups import aliased, aliases, need_apart, number, own_names, per_group
from pipeline.run import Run

MOST_BINS = 10_000
SMALL = 2.0**-16
"""Makes the widest range times the most bins a double, and loses no digit."""
INTERVAL = {"value": "mean_reward", "low": "mean_reward_ci_low_95", "high": "mean_reward_ci_high_95"}
FIGURES = ("bin", "low", "high", "rollouts", "tasks", *INTERVAL.values())


def reward_by_tokens(
    run: Run, *, field: str = "output_tokens", bins: int = 10, quantiles: bool = True, by: Sequence[str] = ()
) -> pl.LazyFrame:
    """The mean reward in bins of a token count: quantiles, or with quantiles=false bins of equal width.

    Over the scored rollouts that have the field. Equal counts are never split, so bins of quantiles can be of
    different size; a bin without rollouts has no row.

    Columns: those of `by`; `bin` (Int64, from 1), `low`, `high` (Float64): the least and the greatest count in the
    bin; `rollouts`, `tasks` (UInt32); `mean_reward` (Float64) over rollouts; `mean_reward_ci_low_95`,
    `mean_reward_ci_high_95` (Float64): its interval clustered by task (formula and source: `clustered_means`), null
    where the bin has one task only, or no task differs.

    Args:
        run: What is asked about.
        field: The metric that makes the bins.
        bins: How many, in each group.
        quantiles: Whether bins hold equally many rollouts rather than being equally wide.
        by: Columns that make a group; each has bins of its own.

    Raises:
        UsageError: There is no such column, or no such number of bins.
    """
    if not 1 <= bins <= MOST_BINS:
        raise UsageError(f"bins={bins}: how many?", hint=f"From 1 to {MOST_BINS}.")
    rollouts = scored(run, field)
    group = by_columns(rollouts, by)
    need_apart(group, FIGURES)
    keys = aliases(group)
    rows = rollouts.select(
        *aliased(group),
        pl.col(names.TASK),
        pl.lit(0, pl.Int8).alias("all"),
        reward=number(names.REWARD),
        value=number(field),
    ).pipe(_with_bins, [*keys, "all"], bins, quantiles=quantiles)
    cells = [*keys, "bin"]
    value, tasks = pl.col("value"), pl.col(names.TASK).n_unique()
    figures = per_group(rows, cells, low=value.min(), high=value.max(), rollouts=pl.len(), tasks=tasks)
    of_tasks = per_group(rows, [*cells, names.TASK], total=pl.col("reward").sum(), weight=pl.len())
    interval = clustered_means(of_tasks, cells).select(*cells, *INTERVAL).rename(INTERVAL)
    joined = figures.join(interval, on=cells, nulls_equal=True, maintain_order="left")
    return joined.select(*own_names(group), *FIGURES)


def _with_bins(rows: pl.LazyFrame, group: list[str], bins: int, *, quantiles: bool) -> pl.LazyFrame:
    """Adds the bin of each row in its group, from 1.

    By rank, where equal values have the rank of the first; or by value, where the lower edge belongs to a bin.
    """
    value = pl.col("value")
    if quantiles:
        place = (pl.col("rank").cast(pl.Int64) - 1) * bins // pl.col("count").cast(pl.Int64)
        return rows.with_columns(rank=value.rank("min").over(group), count=pl.len().over(group)).with_columns(
            bin=place + 1
        )
    low, high = pl.col("lowest") * SMALL, pl.col("highest") * SMALL
    place = pl.when(high > low).then((value * SMALL - low) * bins / (high - low)).otherwise(0.0)
    return rows.with_columns(lowest=value.min().over(group), highest=value.max().over(group)).with_columns(
        bin=place.floor().clip(0, bins - 1).cast(pl.Int64) + 1
    )
