"""Numbers as a user writes them."""

from __future__ import annotations

import polars as pl


def plain_number(number: float) -> str:
    """A number to its last digit, whole ones without a fraction: what reads it back has the same number."""
    return repr(float(number)).removesuffix(".0")


def plain_text(value: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Values as text (String), whole numbers without a fraction: 5 and 5.0 are one text.

    Args:
        value: Any column.
        dtype: Its type.
    """
    text = value.cast(pl.String)
    if not dtype.is_float():
        return text
    whole = value.cast(pl.Int64, strict=False)
    return pl.when(value == whole.cast(pl.Float64)).then(whole.cast(pl.String)).otherwise(text)
