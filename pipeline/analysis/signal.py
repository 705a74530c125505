"""How many tasks give a learner something to learn: groups of rollouts of which some pass and some fail."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from pipeline.analysis.passing import at
from pipeline.analysis.posterior import jeffreys, mixed_share

MIXED = "mixed"
DIFFERENT = "different scores"
EXPECTED = "mixed@"


def with_signal(tasks: pl.LazyFrame, sizes: Sequence[int]) -> pl.LazyFrame:
    """Adds whether a task's rollouts are mixed, and how often groups of other sizes would be.

    Args:
        tasks: As `by_task` gives them.
        sizes: How many new rollouts would make a group.

    Returns:
        The tasks in their order, with `mixed` (Float64: 1 where some pass and some fail, else 0), `different scores`
        (Float64: 1 where any two scores differ), both null for a single rollout; `mixed@SIZE` (Float64): the chance
        of a mixed group under the posterior of the task's pass rate (`posterior.mixed_share`).
    """
    passed, rollouts = pl.col("passed"), pl.col("rollouts")
    several = pl.when(rollouts > 1)
    return (
        tasks.with_columns(
            several.then(((passed > 0) & (passed < rollouts)).cast(pl.Float64)).alias(MIXED),
            several.then(pl.col("differs").cast(pl.Float64)).alias(DIFFERENT),
            **{f"_{name}": value for name, value in jeffreys(rollouts, passed).items()},
        )
        .with_columns(
            mixed_share(pl.col("_alpha"), pl.col("_beta"), size=size).alias(at(EXPECTED, size)) for size in sizes
        )
        .drop("_alpha", "_beta")
    )
