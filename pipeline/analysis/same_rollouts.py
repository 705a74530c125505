"""The same rollouts scored twice: which rollout of one run is which of the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from pipeline import names
from pipeline.analysis.measures import SCORE, UNTROUBLED, Measure
from pipeline.analysis.pairing import SIDES
from pipeline.columns import need
from pipeline.frames.lazy import collect
from pipeline.run import Run

ID_FIELD = "response_id=row.response.id"
ID_COLUMN = names.internal("response_id")


class Matched(NamedTuple):
    """Rollouts that finished in both runs.

    Attributes:
        rollouts: One row a rollout by key: both indices, `_agent`, `_candidate_agent`, and `base COLUMN`,
            `candidate COLUMN` (Float64) of each measure. The score, what passes, the metrics and the score without
            trouble are null on both sides unless both have a score and this number.
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

    @property
    def scored(self) -> int:
        """How many have a score in both."""
        return self.rollouts[f"{SIDES[0]} {SCORE}"].count()

    def of(self, side: str, measures: Sequence[Measure]) -> pl.LazyFrame:
        """The rollouts of one run that are in both, as `measured_rollouts` gives them."""
        agent = pl.col("_agent" if side == SIDES[0] else "_candidate_agent").alias("_agent")
        figures = [pl.col(f"{side} {one.column}").alias(one.column) for one in measures]
        return self.rollouts.lazy().select(*names.KEY, agent, *figures)


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
        agent = pl.col("_agent").alias("_agent" if side == SIDES[0] else "_candidate_agent")
        frame = frame.join(one.select(*names.KEY, agent, *values), on=names.KEY, how="left", maintain_order="left")
    return Matched(
        collect(frame.with_columns(_in_both(measures))),
        len(kept) - unchecked,
        unchecked,
        other,
        (len(mine) - len(both), len(theirs) - len(both)),
    )


def _in_both(measures: Sequence[Measure]) -> list[pl.Expr]:
    """The measures of what was measured, where both sides have a score and this number; else one side would lead."""
    scored = pl.all_horizontal(pl.col(f"{side} {SCORE}").is_not_null() for side in SIDES)
    paired = [one for one in measures if one.kind in {"score", "passes", "metric"} or one.column == UNTROUBLED]
    found: list[pl.Expr] = []
    for one in paired:
        both = pl.all_horizontal(pl.col(f"{side} {one.column}").is_not_null() for side in SIDES)
        found += [pl.when(scored & both).then(pl.col(f"{side} {one.column}")) for side in SIDES]
    return found


def _finished(run: Run) -> pl.DataFrame:
    need(run.aligned.frame, ID_COLUMN)
    finished = run.aligned.frame.filter(pl.col("_finished"))
    return collect(finished.select(*names.KEY, pl.col(ID_COLUMN).cast(pl.String)))
