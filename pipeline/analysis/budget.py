"""Which tasks get their repeats where not all can be paid for."""

from __future__ import annotations

import polars as pl

from pipeline.groups import GROUP

RULE = "settled first, then cheapest first; a task gets all of its repeats or none"


def within_budget(plan: pl.LazyFrame, budget: int | None) -> pl.LazyFrame:
    """Chooses which groups get the repeats they need.

    What is planned already is paid first. With the rest, groups whose target the repeats are expected to meet come
    before those that stay open at the limit; among either those that cost fewest tokens come first, ties by task and
    agent; each gets all of its repeats if they can still be paid, else none. No other choice settles more groups.

    Args:
        plan: As `topup_plan` gives it; groups of unknown cost get none under a budget.
        budget: Tokens at most; None for no limit.

    Returns:
        The plan with `chosen` (Boolean: whether the group's `more` repeats are planned), sorted by task and agent.
    """
    wanted = pl.col("more") > 0
    if budget is None:
        return plan.with_columns(chosen=wanted).sort(GROUP, nulls_last=True)
    ranked = plan.sort("tokens", *GROUP, nulls_last=True).with_columns(
        _left=pl.lit(budget, pl.Int64) - pl.col("pending_tokens").sum(),
        _first=wanted & pl.col("settled"),
        _last=wanted & ~pl.col("settled"),
    )
    first = ranked.with_columns(_first=_affordable("_first", pl.col("_left")))
    rest = first.with_columns(_left=pl.col("_left") - _cost("_first").sum())
    chosen = rest.with_columns(_last=_affordable("_last", pl.col("_left")))
    return (
        chosen.with_columns(chosen=pl.col("_first") | pl.col("_last"))
        .drop("_left", "_first", "_last")
        .sort(GROUP, nulls_last=True)
    )


def _affordable(wanted: str, left: pl.Expr) -> pl.Expr:
    """Of groups from the cheapest on, those that can be paid one after another."""
    return pl.col(wanted) & pl.col("tokens").is_not_null() & (_cost(wanted).cum_sum() <= left)


def _cost(wanted: str) -> pl.Expr:
    return pl.col("tokens").fill_null(0) * pl.col(wanted).cast(pl.Int64)
