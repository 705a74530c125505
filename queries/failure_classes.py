"""What became of planned rollouts that did not finish."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from pipeline import names
from pipeline.columns import by_columns, planned
from pipeline.completion import accounting, named_class
from pipeline.groups import aliased, aliases, need_apart, own_names, together
from pipeline.run import Run

COUNTS = ("rollouts", "attempts", "attempts_of_finished")
FIGURES = ("failure_class", "rollouts", "share", "attempts", "attempts_of_finished", "message")


def failure_classes(run: Run, *, by: Sequence[str] = ()) -> pl.LazyFrame:
    """What became of planned rollouts without a result, by the class of the last failed attempt; most first.

    Over planned rollouts and their failed attempts; with `by` in each group of planned rollouts.

    Columns: those of `by`; `failure_class` (String; `unknown` where no attempt left a line, `unnamed` where the line
    names none); `rollouts` (UInt32): unfinished ones whose last attempt it was; `share` (Float64): of all unfinished
    rollouts, with `by` of the group's; `attempts` (UInt32): failed attempts of this class, last or not;
    `attempts_of_finished` (UInt32): those of them whose rollout finished in the end; `message` (String): what the first
    attempt of this class says that says something.

    Args:
        run: What is asked about.
        by: Columns that make a group, such as those of inputs; what only a result has is null where there is none.

    Raises:
        UsageError: There is no column of `by`.
    """
    group = by_columns(run.rollouts, by)
    need_apart(group, FIGURES)
    frame = planned(run).select(*names.KEY, "_finished", *aliased(group))
    keys = aliases(group)
    cells = [*keys, "failure_class"]
    attempts = run.failures.filter(pl.col("_problem").is_null()).join(frame, on=names.KEY)
    recovered = _by_class(attempts.filter("_finished"), keys).rename({"rollouts": COUNTS[2]})
    rollouts = pl.col("rollouts")
    # a column: division by a single number is by its rounded reciprocal
    total = rollouts.sum().over(keys) if keys else rollouts * 0 + rollouts.sum()
    return (
        accounting(frame, run.failures, by=keys)
        .join(
            _by_class(attempts, keys).rename({"rollouts": COUNTS[1]}),
            on=cells,
            how="full",
            nulls_equal=True,
            coalesce=True,
        )
        .join(recovered, on=cells, how="left", nulls_equal=True)
        .join(_first_messages(attempts, keys), on=cells, how="left", nulls_equal=True)
        .with_columns(pl.col(COUNTS).fill_null(0))
        .with_columns(share=pl.when(total > 0).then(rollouts / total))
        .sort("rollouts", "attempts", "failure_class", descending=(True, True, False))
        .pipe(together, keys)
        .select(*own_names(group), *FIGURES)
    )


def _by_class(attempts: pl.LazyFrame, by: Sequence[str]) -> pl.LazyFrame:
    """Attempts by class: each counts as a rollout of its own."""
    each = attempts.sort("_file", "_line").with_columns(pl.int_range(pl.len()).alias(names.TASK))
    return accounting(each.select(*names.KEY, *by, _finished=pl.lit(value=False)), each, by=by)


def _first_messages(attempts: pl.LazyFrame, by: Sequence[str]) -> pl.LazyFrame:
    """What the first attempt of each class says."""
    return (
        attempts.filter(pl.col("_message").is_not_null())
        .sort("_file", "_line")
        .group_by(*by, failure_class=named_class())
        .agg(message=pl.col("_message").first())
    )
