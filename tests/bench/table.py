"""Markdown tables whose columns also line up as plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.bench.measure import Spread

NOTHING = "-"
_LONGEST_CELL = 160


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; rows shorter than the headings are filled up."""
    filled = [[*map(_cell, row), *[NOTHING] * (len(headings) - len(row))] for row in rows]
    widths = [max(map(len, column)) for column in zip(headings, *filled, strict=True)]
    rule = ["-" * width for width in widths]
    lines = [[text.ljust(width) for text, width in zip(row, widths, strict=True)] for row in (headings, rule, *filled)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def spread(figures: Spread, *, scale: float = 1.0, digits: int = 2) -> str:
    """`median (min to max)`."""
    middle, low, high = (f"{value / scale:.{digits}f}" for value in figures)
    return f"{middle} ({low} to {high})"


def limit(value: float | None, *, sign: str = "<=") -> str:
    """A budget as text."""
    return NOTHING if value is None else f"{sign} {value:g}"


def verdict(*, holds: bool) -> str:
    """The last cell of a row with budgets."""
    return "yes" if holds else "**no**"


def _cell(text: str) -> str:
    shown = text if len(text) <= _LONGEST_CELL else f"{text[: _LONGEST_CELL - 3]}..."
    return shown.replace("|", "\\|")
