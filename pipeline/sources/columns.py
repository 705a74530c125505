"""Python numbers → plain buffers that travel between processes and become columns without a copy."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple


class Column(NamedTuple):
    """One column of a chunk.

    Attributes:
        typecode: `q` for 64-bit whole numbers, `d` for doubles.
        values: The numbers, 0 where there is none.
        valid: One byte a row, 0 where there is no number; None where every row has one.
    """

    typecode: str
    values: bytes
    valid: bytes | None


def numbers(values: Sequence[Any], *, whole: bool) -> Column:
    """A column of numbers, exact where all are whole numbers of 64 bits, else in doubles.

    Args:
        values: Numbers and booleans; None is no number.
        whole: Whether none of them is a float.

    Returns:
        The column; a whole number beyond a double is an infinity in it.
    """
    valid = None
    if None in values:
        valid = bytes([value is not None for value in values])
        values = [0 if value is None else value for value in values]
    if whole:
        try:
            return Column("q", array("q", values).tobytes(), valid)
        except OverflowError:
            pass
    try:
        return Column("d", array("d", values).tobytes(), valid)
    except OverflowError:
        return Column("d", array("d", map(_as_double, values)).tobytes(), valid)


def _as_double(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
