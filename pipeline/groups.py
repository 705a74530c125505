"""Figures of groups, and the expressions that several answers share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from pipeline import names
from pipeline.errors import UsageError
from pipeline.profile.expressions import column

TOKENS = "output_tokens"
GROUP = (names.TASK, "_agent")
"""A group: the rollouts of one task by one agent."""


def within(by: Sequence[str]) -> list[str]:
    """The columns that make the groups (task, agent) in each group of other columns, which come first."""
    return list(dict.fromkeys((*by, *GROUP)))


def aliased(group: Sequence[str]) -> list[pl.Expr]:
    """The columns to group by under names that no join takes for a pattern and no figure has."""
    return [column(name).alias(key) for key, name in zip(aliases(group), group, strict=True)]


def aliases(group: Sequence[str]) -> list[str]:
    """The names that `aliased` gives."""
    return [f"by {place}" for place in range(len(group))]


def own_names(group: Sequence[str]) -> list[pl.Expr]:
    """The columns that `aliased` gives under their own names again."""
    return [pl.col(key).alias(name) for key, name in zip(aliases(group), group, strict=True)]


def need_apart(group: Sequence[str], figures: Iterable[str]) -> None:
    """Makes sure that no column that rows are grouped by is called like a figure of the answer.

    Raises:
        UsageError: One is.
    """
    figures = list(figures)
    for name in group:
        if name in figures:
            raise UsageError(f"no grouping by {name!r}: the answer has a column of that name")


def number(name: str) -> pl.Expr:
    """The column of exactly this name in doubles."""
    return column(name).cast(pl.Float64)


def per_group(rows: pl.LazyFrame, group: Sequence[str], **figures: pl.Expr) -> pl.LazyFrame:
    """Figures of each group, sorted by group with nulls last; without a group one row, or none where rows has none.

    Raises:
        UsageError: A column that rows are grouped by is called like a figure.
    """
    need_apart(group, figures)
    if not group:
        return per_group(rows.with_columns(pl.lit(0, pl.Int8).alias("_all")), ["_all"], **figures).drop("_all")
    return together(rows, group).group_by(map(column, group), maintain_order=True).agg(**figures)


def together(rows: pl.LazyFrame, group: Sequence[str]) -> pl.LazyFrame:
    """Rows sorted by group, else in their order, in one chunk.

    Polars adds up parts of a group apart where rows are not sorted or are in several chunks: the last digits of
    figures would depend on the number of threads.
    """
    keys = [column(name) for name in group]
    ordered = rows.sort(keys, nulls_last=True, maintain_order=True) if keys else rows
    return ordered.map_batches(pl.DataFrame.rechunk)


def mean_tokens(rollouts: pl.LazyFrame) -> dict[str, pl.Expr]:
    """The mean length and how many rollouts it is over; null and 0 in a run without lengths."""
    there = TOKENS in rollouts.collect_schema()
    length = number(TOKENS) if there else pl.lit(None, pl.Float64)
    return {f"mean_{TOKENS}": length.mean(), "rollouts_with_tokens": length.count() if there else pl.lit(0, pl.UInt32)}
