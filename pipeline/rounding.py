"""How far from equal doubles may be that are equal but for rounding."""

from __future__ import annotations

import polars as pl

NOISE = 1e-12
"""What is left of a difference that is none when sums are rounded, relative to values of about 1 or to the sums."""


def without_noise(difference: pl.Expr, *values: pl.Expr) -> pl.Expr:
    """A difference (Float64), 0.0 where it is but rounding of the values that it was worked out from."""
    largest = pl.max_horizontal(*(value.abs() for value in values), 1.0)
    return pl.when(difference.abs() <= NOISE * largest).then(0.0).otherwise(difference)


def exceeds(value: float, limit: float) -> bool:
    """Whether a number is larger than a limit by more than rounding."""
    return value - limit > NOISE * max(1.0, abs(value), abs(limit))
