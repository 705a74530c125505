"""What became of planned rollouts that did not finish."""

from __future__ import annotations

import polars as pl

from pipeline import names
from pipeline.completion import accounting
from pipeline.run import Run

COUNTS = ("rollouts", "attempts", "attempts_of_finished")


def failure_classes(run: Run) -> pl.LazyFrame:
    """What became of planned rollouts without a result, by the class of the last failed attempt; most first.

    Over planned rollouts and their failed attempts.

    Columns: `failure_class` (String; `unknown` where no attempt left a line, `unnamed` where the line names none);
    `rollouts` (UInt32): unfinished ones whose last attempt it was; `share` (Float64): of all unfinished rollouts;
    `attempts` (UInt32): failed attempts of this class, last or not; `attempts_of_finished` (UInt32): those of them
    whose rollout finished in the end.

    Args:
        run: What is asked about.
    """
    frame = run.aligned.frame
    known = run.failures.filter(pl.col("_problem").is_null())
    finished = frame.filter(pl.col("_finished")).select(names.KEY)
    attempts = _by_class(known.join(frame.select(names.KEY), on=names.KEY, how="semi")).rename({"rollouts": COUNTS[1]})
    recovered = _by_class(known.join(finished, on=names.KEY, how="semi")).rename({"rollouts": COUNTS[2]})
    rollouts = pl.col("rollouts")
    total = rollouts * 0 + rollouts.sum()  # a column: division by a single number is by its rounded reciprocal
    return (
        accounting(frame, run.failures)
        .join(attempts, on="failure_class", how="full", coalesce=True)
        .join(recovered, on="failure_class", how="left")
        .with_columns(pl.col(COUNTS).fill_null(0))
        .with_columns(share=pl.when(total > 0).then(rollouts / total))
        .select("failure_class", "rollouts", "share", "attempts", "attempts_of_finished")
        .sort("rollouts", "attempts", "failure_class", descending=(True, True, False))
    )


def _by_class(attempts: pl.LazyFrame) -> pl.LazyFrame:
    """Attempts by class: each counts as a rollout of its own."""
    each = attempts.sort("_file", "_line").with_columns(pl.int_range(pl.len()).alias(names.TASK))
    return accounting(each.select(*names.KEY, _finished=pl.lit(value=False)), each)
