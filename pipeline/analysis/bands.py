"""Ranges of figures with both ends in them, and how sure it is that a pass rate lies in one."""

from __future__ import annotations

import math
from typing import NamedTuple

import polars as pl

from pipeline.analysis.plain import plain_number
from pipeline.analysis.posterior import jeffreys, mass
from pipeline.errors import UsageError

EDGES = (0.2, 0.4, 0.6, 0.8)
ALWAYS, NEVER = "1", "0"
BANDS = (NEVER, "0-0.2", "0.2-0.4", "0.4-0.6", "0.6-0.8", "0.8-1", ALWAYS)
UNSCORED = "unscored"


class Span(NamedTuple):
    """A range, both ends in it.

    Attributes:
        low: Its lower end; minus infinity where there is none.
        high: Its upper end; infinity where there is none.
    """

    low: float
    high: float

    def __str__(self) -> str:
        low = "" if self.low == -math.inf else plain_number(self.low)
        return f"{low}:{'' if self.high == math.inf else plain_number(self.high)}"

    def has(self, value: pl.Expr) -> pl.Expr:
        """Whether a value lies in the range; no value does not."""
        return (value >= self.low) & (value <= self.high)


def span_of(text: str, *, option: str) -> Span:
    """The range that a text such as `0.2:0.8`, `:4096` or `0.5:` means.

    Raises:
        UsageError: It is none.
    """
    low, colon, high = text.partition(":")
    try:
        span = Span(float(low or -math.inf), float(high or math.inf))
    except ValueError:
        span = Span(math.nan, math.nan)
    if not colon or not span.low <= span.high:
        hint = "Write it like 0.2:0.8, both ends are in it; one of them may be left out."
        raise UsageError(f"{option} {text!r} is no range", hint=hint)
    return span


def pass_rate_span(text: str) -> Span:
    """The range of pass rates that a text means.

    Raises:
        UsageError: It is no range, or no pass rate lies in it.
    """
    span = span_of(text, option="--pass-rate")
    if span.low > 1 or span.high < 0:
        raise UsageError(f"--pass-rate {text!r} holds no pass rate", hint="Pass rates lie between 0 and 1.")
    return span


def need_width(span: Span) -> None:
    """Refuses a range of pass rates that no posterior gives a probability.

    Raises:
        UsageError: It has one point.
    """
    if not max(span.low, 0.0) < min(span.high, 1.0):
        hint = "Give it two ends, such as 0.9:1, of which one lies between 0 and 1."
        raise UsageError(f"--pass-rate {span}: a range of one point has no probability", hint=hint)


def in_band(span: Span) -> pl.Expr:
    """The probability (Float64, 0-1) that the pass rate of a row with `rollouts` and `passed` lies in a range.

    That is the `mass` of its posterior, see `jeffreys`; a task without voting rollouts has the prior.

    Args:
        span: The range.
    """

    def within(pair: pl.Series) -> pl.Series:
        alpha, beta = (pair.struct.field(name).to_numpy() for name in ("alpha", "beta"))
        return pl.Series(mass(alpha, beta, span), dtype=pl.Float64)

    posterior = jeffreys(pl.col("rollouts"), pl.col("passed"))
    return pl.struct(alpha=posterior["alpha"], beta=posterior["beta"]).map_batches(
        within, return_dtype=pl.Float64, is_elementwise=True
    )


def misfiled(pool: pl.DataFrame, span: Span, *, confidence: float) -> dict[str, float]:
    """How the filter that takes each observed pass rate for the true one compares with the posterior.

    Args:
        pool: Tasks with `pass_rate` and `in_band`.
        span: The range.
        confidence: How probable it has to be that a pass rate lies in it.

    Returns:
        `naive`: tasks whose observed rate lies in the range; `unsure`: those of them that the posterior does not keep;
        `overlooked`: others that it keeps; `expected`: how many tasks the naive filter files on the wrong side, as
        the posteriors expect it.
    """
    within, naive = pl.col("in_band"), span.has(pl.col("pass_rate"))
    wrong = pl.when(naive).then(1.0 - within).otherwise(within)
    told = pool.select(
        naive=naive.sum(),
        unsure=(naive & (within < confidence)).sum(),
        overlooked=(~naive & (within >= confidence)).sum(),
        expected=wrong.sum(),
    )
    return told.row(0, named=True)


def band_of(pass_rate: pl.Expr) -> pl.Expr:
    """The band of a pass rate (Enum in their order): never, fifths with the upper end in them, always, or unscored."""
    band = pl.when(pass_rate.is_null()).then(pl.lit(UNSCORED)).when(pass_rate == 0).then(pl.lit(NEVER))
    band = band.when(pass_rate == 1).then(pl.lit(ALWAYS))
    for edge, name in zip((*EDGES, 1.0), BANDS[1:-1], strict=True):
        band = band.when(pass_rate <= edge).then(pl.lit(name))
    return band.otherwise(pl.lit(BANDS[-2])).cast(pl.Enum((*BANDS, UNSCORED)))
