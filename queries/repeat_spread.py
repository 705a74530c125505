"""How much a figure moves from repeat to repeat."""

from __future__ import annotations

import polars as pl

from pipeline import names
from pipeline.profile.expressions import column, spread_statistics
from pipeline.run import Run
from queries.columns import measured
from queries.figures import number, per_group, together

LABELS = ("mean", "std", "se", "min", "max")


def repeat_spread(run: Run, *, metric: str = names.REWARD) -> pl.LazyFrame:
    """How much each agent's mean moves from repeat to repeat: the spread of the means at each rollout index.

    Over the measured rollouts that have the metric. Where repeats are over different tasks, because rollouts are
    missing, that is part of the spread.

    Columns: `_agent` (String); `repeats`, `tasks`, `rollouts` (UInt32): what it is over; `mean`, `std`, `se`, `min`,
    `max` (Float64): of the per-repeat means; std is the sample's, se = std / √repeats, both null for one repeat.

    Args:
        run: What is asked about.
        metric: The metric.

    Raises:
        UsageError: There is no such metric.
    """
    rows = measured(run, metric).filter(column(metric).is_not_null())
    counts = per_group(
        rows,
        ["_agent"],
        repeats=pl.col(names.ROLLOUT).n_unique(),
        tasks=pl.col(names.TASK).n_unique(),
        rollouts=pl.len(),
    )
    means = per_group(rows, ["_agent", names.ROLLOUT], value=number(metric).mean())
    spread = spread_statistics(together(means, ["_agent"]), ["_agent"], [("value", "{}")], LABELS)
    alone = pl.col("repeats") == 1
    return counts.join(spread, on="_agent", nulls_equal=True, maintain_order="left").with_columns(
        pl.when(~alone).then(name).alias(name) for name in ("std", "se")
    )
