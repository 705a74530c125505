"""The best and the worst rollout of a task, for preference training and for looking at."""

from __future__ import annotations

import polars as pl

from pipeline import names
from pipeline.groups import GROUP, TOKENS, number


def best_first(rollouts: pl.LazyFrame) -> pl.LazyFrame:
    """The rollouts that pass, the best first: by score, then the fewest output tokens, then rollout index.

    Args:
        rollouts: With `_score` (Float64) and `_passed` (Boolean).
    """
    passing = rollouts.filter(pl.col("_passed"))
    return passing.sort(-pl.col("_score"), _tokens(rollouts), names.ROLLOUT, nulls_last=True)


def worst_first(rollouts: pl.LazyFrame) -> pl.LazyFrame:
    """The rollouts that fail, the worst first: by score, then the most output tokens, then rollout index.

    Args:
        rollouts: With `_score` (Float64) and `_passed` (Boolean).
    """
    failing = rollouts.filter(~pl.col("_passed"))
    return failing.sort(pl.col("_score"), -_tokens(rollouts), names.ROLLOUT, nulls_last=True)


def pairs(rollouts: pl.LazyFrame) -> pl.LazyFrame:
    """The best passing and the worst failing rollout of each task and agent that has both, two rows each.

    Columns: `_ng_task_index`, `_agent`; `_chosen` (Boolean, true first); `_ng_rollout_index` (Int64), `_score`
    (Float64); and the place of its line, as that of a sample: `_input_source`, `_input_line`, `_input_offset`,
    `_input_length`. Sorted by task and agent.

    Args:
        rollouts: As `voting` gives them.
    """
    ends = [
        ends.unique(GROUP, keep="first", maintain_order=True).with_columns(_chosen=pl.lit(value))
        for value, ends in ((True, best_first(rollouts)), (False, worst_first(rollouts)))
    ]
    both = [one.join(other, on=GROUP, how="semi", nulls_equal=True) for one, other in (ends, reversed(ends))]
    places = [pl.col(part).alias(place) for part, place in zip(names.PLACE, names.INPUT_PLACE, strict=True)]
    return (
        pl.concat(both)
        .select(*GROUP, "_chosen", names.ROLLOUT, "_score", *places)
        .sort(*GROUP, "_chosen", descending=[False, False, True], nulls_last=True)
    )


def _tokens(rollouts: pl.LazyFrame) -> pl.Expr:
    return number(TOKENS) if TOKENS in rollouts.collect_schema() else pl.lit(0.0)
