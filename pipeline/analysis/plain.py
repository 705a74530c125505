"""Numbers as a user writes them."""

from __future__ import annotations


def plain_number(number: float) -> str:
    """A number to its last digit, whole ones without a fraction: what reads it back has the same number."""
    return repr(float(number)).removesuffix(".0")
