"""How much a figure moves from repeat to repeat."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from pipeline import names
from pipeline.columns import by_columns, measured
from pipeline.groups import aliased, aliases, need_apart, number, own_names, per_group, together
from pipeline.profile.expressions import column, spread_statistics
from pipeline.run import Run

LABELS = ("mean", "std", "se", "min", "max")
FIGURES = ("repeats", "tasks", "rollouts", *LABELS)


def repeat_spread(run: Run, *, metric: str = names.REWARD, by: Sequence[str] = ()) -> pl.LazyFrame:
    """How much each agent's mean moves from repeat to repeat: the spread of the means at each rollout index.

    Over the measured rollouts that have the metric. Where repeats are over different tasks, because rollouts are
    missing, that is part of the spread. With `by` the means are those of each group of an agent's rollouts.

    Columns: `_agent` (String) and those of `by`; `repeats`, `tasks`, `rollouts` (UInt32): what it is over; `mean`,
    `std`, `se`, `min`, `max` (Float64): of the per-repeat means; std is the sample's, se = std / √repeats, both null
    for one repeat.

    Args:
        run: What is asked about.
        metric: The metric.
        by: Columns that make groups of an agent's rollouts.

    Raises:
        UsageError: There is no such metric, or no column of `by`.
    """
    rollouts = measured(run, metric).filter(column(metric).is_not_null())
    group = by_columns(rollouts, ["_agent", *by])
    need_apart(group, FIGURES)
    rows = rollouts.select(*aliased(group), *names.KEY, value=number(metric))
    keys = aliases(group)
    counts = per_group(
        rows,
        keys,
        repeats=pl.col(names.ROLLOUT).n_unique(),
        tasks=pl.col(names.TASK).n_unique(),
        rollouts=pl.len(),
    )
    means = per_group(rows, [*keys, names.ROLLOUT], value=pl.col("value").mean())
    spread = spread_statistics(together(means, keys), keys, [("value", "{}")], LABELS)
    several = pl.col("repeats") > 1
    return (
        counts.join(spread, on=keys, nulls_equal=True, maintain_order="left")
        .with_columns(pl.when(several).then(name).alias(name) for name in ("std", "se"))
        .select(*own_names(group), *FIGURES)
    )
