"""How many more rollouts it takes until enough is known of how often a task is passed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, model_validator

from pipeline.analysis.bands import Span, need_width
from pipeline.analysis.plain import plain_number
from pipeline.analysis.posterior import half_width, jeffreys, mass

if TYPE_CHECKING:
    from numpy import ndarray

COUNTS = ("rollouts", "passed")
ADDED = {
    "in_band": pl.Float64(),
    "half_width": pl.Float64(),
    "reason": pl.String(),
    "needed": pl.Int64(),
    "settled": pl.Boolean(),
}
AT_ONCE = 64


class Target(BaseModel):
    """What is to be known of the pass rate of a task.

    Attributes:
        band: It is to be either in the band or out of it with a probability of at least `confidence`.
        half_width: Its interval, which holds it with the probability `confidence`, is to be at most twice that wide.
        confidence: How sure that is to be; with 0.5 and less, in and out of the band could both hold.
        max_repeats: How many more rollouts of a task are worth it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    band: Span | None = None
    half_width: float | None = Field(default=None, gt=0, lt=0.5)
    confidence: float = Field(default=0.9, gt=0.5, lt=1)
    max_repeats: int = Field(default=64, ge=1)

    @model_validator(mode="after")
    def _fit(self) -> Target:
        if self.band is not None:
            need_width(self.band)
        return self

    def __str__(self) -> str:
        """The target in words."""
        band = f"in or out of {self.band} with probability {plain_number(self.confidence)}" if self.band else ""
        width = (
            f"half width of the {100 * self.confidence:.15g} % interval <= {plain_number(self.half_width)}"
            if self.half_width
            else ""
        )
        return "; ".join(filter(None, (band, width))) or "none"


def repeats_needed(groups: pl.LazyFrame, target: Target) -> pl.LazyFrame:
    """How many more rollouts each group is expected to need until the target is met.

    What is known of a pass rate is its posterior under Jeffreys' prior, Beta(α, β). Of m more rollouts, m · α / (α + β)
    are expected to pass: the least m for which Beta(α + m · α / (α + β), β + m · β / (α + β)) meets the target is what
    a group needs, `max_repeats` where none up to that does. A pass rate at an end of the band needs more than any.

    Args:
        groups: Rows with `rollouts` (those that vote) and `passed`.
        target: What is to be known.

    Returns:
        The same rows with `in_band` (Float64: the probability that the pass rate lies in the band; null without one),
        `half_width` (Float64: of the interval), `reason` (String: `straddles`, `wide` or `straddles, wide`; null where
        the target is met), `needed` (Int64: 0 where it is met), `settled` (Boolean: whether that many meet it).
    """

    def extended(rows: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        return rows.map_batches(partial(_with_needs, target=target), schema=pl.Schema({**schema, **ADDED}))

    return groups.pipe_with_schema(extended)


def _with_needs(groups: pl.DataFrame, *, target: Target) -> pl.DataFrame:
    """The groups with what they need; it is worked out once for all that have the same counts."""
    passed, rollouts = pl.col("passed"), pl.col("rollouts")
    different = groups.select(COUNTS).unique().sort(COUNTS).with_columns(**jeffreys(rollouts, passed))
    alpha, beta = different["alpha"].to_numpy(), different["beta"].to_numpy()
    needed, settled = _least(alpha, beta, target)
    found = different.select(COUNTS).with_columns(
        in_band=pl.Series(mass(alpha, beta, target.band)) if target.band else pl.lit(None, pl.Float64),
        half_width=pl.Series(half_width(alpha, beta, confidence=target.confidence)),
        reason=_reasons(alpha, beta, target),
        needed=pl.Series(needed, dtype=pl.Int64),
        settled=pl.Series(settled, dtype=pl.Boolean),
    )
    return groups.join(found, on=COUNTS, how="left", maintain_order="left")


def _least(alpha: ndarray, beta: ndarray, target: Target) -> tuple[ndarray, ndarray]:
    """The least number of rollouts that is expected to do, and whether it is; looked for a few at a time."""
    import numpy as np

    needed = np.where(_met(alpha, beta, target), 0, target.max_repeats)
    settled = needed == 0
    for first in range(1, target.max_repeats + 1, AT_ONCE):
        (left,) = np.nonzero(~settled)
        if not len(left):
            break
        more = np.arange(first, min(first + AT_ONCE, target.max_repeats + 1))
        a, b = alpha[left, None], beta[left, None]
        met = _met(a + more * (a / (a + b)), b + more * (b / (a + b)), target)
        there = met.any(axis=1)
        needed[left[there]] = more[met[there].argmax(axis=1)]
        settled[left[there]] = True
    return needed, settled


def _met(alpha: ndarray, beta: ndarray, target: Target) -> ndarray:
    import numpy as np

    met: ndarray = np.full(alpha.shape, fill_value=True)
    if target.band is not None:
        met &= _decided(alpha, beta, target.band, target.confidence)
    if target.half_width is not None:
        met &= half_width(alpha, beta, confidence=target.confidence) <= target.half_width
    return met


def _decided(alpha: ndarray, beta: ndarray, band: Span, confidence: float) -> ndarray:
    """Whether a pass rate is in the band or out of it with this probability."""
    within = mass(alpha, beta, band)
    decided: ndarray = (within >= confidence) | (1 - within >= confidence)
    return decided


def _reasons(alpha: ndarray, beta: ndarray, target: Target) -> pl.Series:
    straddles, wide = ([False] * len(alpha) for _ in range(2))
    if target.band is not None:
        straddles = list(~_decided(alpha, beta, target.band, target.confidence))
    if target.half_width is not None:
        wide = list(half_width(alpha, beta, confidence=target.confidence) > target.half_width)
    told = [
        ", ".join(word for word, holds in (("straddles", one), ("wide", other)) if holds) or None
        for one, other in zip(straddles, wide, strict=True)
    ]
    return pl.Series(told, dtype=pl.String)
