"""The same rollouts scored twice: which rollout of one run is which of the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from pipeline import names
from pipeline.analysis.measures import Measure
from pipeline.analysis.pairing import SIDES
from pipeline.columns import need
from pipeline.frames.lazy import collect
from pipeline.run import Run

ID_FIELD = "response_id=row.response.id"
ID_COLUMN = names.internal("response_id")


class Matched(NamedTuple):
    """Rollouts that finished in both runs.

    Attributes:
        rollouts: One row a rollout by key: both indices, `_agent`, and `base COLUMN`, `candidate COLUMN` (Float64) of
            each measure.
        same: How many of them have the same `response.id` in both.
        unchecked: How many have no `response.id` in one or both, and are taken for the same by their indices.
        other: Rollouts whose `response.id` differs, by key (both indices): they are not the same, and have no part.
        alone: How many finished in the base only, and in the candidate only.
    """

    rollouts: pl.DataFrame
    same: int
    unchecked: int
    other: pl.DataFrame
    alone: tuple[int, int]

    def of(self, rollouts: pl.LazyFrame) -> pl.LazyFrame:
        """Those of a run's rollouts that are in both."""
        keys = self.rollouts.lazy().select(names.KEY)
        return rollouts.join(keys, on=names.KEY, how="semi", maintain_order="left")


def same_rollouts(
    base: Run, candidate: Run, rollouts: tuple[pl.LazyFrame, pl.LazyFrame], measures: Sequence[Measure]
) -> Matched:
    """Matches rollouts by both indices, and looks whether they have the same response.

    Args:
        base: A run that was read with `ID_FIELD`.
        candidate: Another.
        rollouts: As `measured_rollouts` gives them, of both.
        measures: What to keep of both.

    Raises:
        UsageError: A run was read without `ID_FIELD`.
    """
    mine, theirs = (_finished(one) for one in (base, candidate))
    both = mine.join(theirs, on=names.KEY, how="inner", suffix=" candidate", maintain_order="left")
    differs = pl.col(ID_COLUMN) != pl.col(f"{ID_COLUMN} candidate")
    other = both.filter(differs).select(names.KEY)
    kept = both.filter(differs.fill_null(value=False).not_())
    unchecked = kept.filter(pl.any_horizontal(pl.col(ID_COLUMN, f"{ID_COLUMN} candidate").is_null())).height
    frame = kept.lazy().select(names.KEY)
    for side, one in zip(SIDES, rollouts, strict=True):
        values = [pl.col(measure.column).alias(f"{side} {measure.column}") for measure in measures]
        about = ["_agent"] if side == SIDES[0] else []
        frame = frame.join(one.select(*names.KEY, *about, *values), on=names.KEY, how="left", maintain_order="left")
    return Matched(
        collect(frame), len(kept) - unchecked, unchecked, other, (len(mine) - len(both), len(theirs) - len(both))
    )


def _finished(run: Run) -> pl.DataFrame:
    need(run.aligned.frame, ID_COLUMN)
    finished = run.aligned.frame.filter(pl.col("_finished"))
    return collect(finished.select(*names.KEY, pl.col(ID_COLUMN).cast(pl.String)))
