"""The columns that queries ask for: found by the name a user gives, or refused with those there are."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from pipeline import names
from pipeline.errors import UsageError
from pipeline.profile.expressions import metrics_of
from pipeline.run import Run


def measured(run: Run) -> pl.LazyFrame:
    """The rollouts that are measurements: finished and not masked."""
    return run.rollouts.filter(pl.col("_measured"))


def scored(run: Run) -> pl.LazyFrame:
    """The measured rollouts that have a reward.

    Raises:
        UsageError: No rollout of the run has one.
    """
    rollouts = measured(run)
    need(rollouts, names.REWARD)
    return rollouts.filter(pl.col(names.REWARD).is_not_null())


def need(rows: pl.LazyFrame, *columns: str) -> None:
    """Makes sure that the columns are there.

    Raises:
        UsageError: One is not; its hint lists those there are.
    """
    there = rows.collect_schema().names()
    for name in columns:
        if name not in there:
            raise UsageError(f"there is no column {name!r}", hint=f"There are {_listed(there)}.")


def by_columns(rows: pl.LazyFrame, by: Sequence[str]) -> list[str]:
    """The columns that a user means by names: as they are, or without the `_` that columns beside the metrics have.

    Raises:
        UsageError: There is no such column.
    """
    there = rows.collect_schema().names()
    found = [name if name in there else names.internal(name) for name in by]
    need(rows, *found)
    return found


def _listed(there: list[str]) -> str:
    """The metrics first, then what rollouts are told apart by."""
    return ", ".join([*metrics_of(there), *(name for name in there if name.startswith(names.INTERNAL))])
