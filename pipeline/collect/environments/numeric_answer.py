r"""`numeric_answer`: the last number of the answer against `expected_answer`.

The answer is the last number in the last `\boxed{…}` that holds one, else the last number of the text. These are
numbers: 1000, 1,000, 1{,}000, -0.5, .5, 1e3, 3/4, \frac{3}{4}. A unit, a currency or a percent sign beside it does
not count. Two whole numbers are equal if they are the same; others if they differ by at most `tolerance` of the
expected one. With `needs_box` a right number outside of one earns nothing.
"""

from __future__ import annotations

import re
from fractions import Fraction

from pipeline.collect.environments.base import Answers, Row, RowError, boxes, text_of

LONGEST = 100
LARGEST_EXPONENT = 400
"""Beyond these a number is text: exact arithmetic with it would take for ever."""
NUMBER = r"(?:\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?"
FOUND = re.compile(rf"(?<![\w.])(?:(?<![\w)\]}}])[-+])?{NUMBER}(?:\s*/\s*{NUMBER})?")
LATEX_FRACTION = re.compile(r"\\[dt]?frac\s*\{\s*([^{}]{1,50}?)\s*\}\s*\{\s*([^{}]{1,50}?)\s*\}")
PLAIN = {"{,}": ",", "\\,": "", "\\!": "", "\\$": "", "$": "", "\u2212": "-", "\u00a0": " ", "\u202f": " "}


class NumericAnswer:
    """Rewards the right number.

    Args:
        tolerance: The relative difference that is forgiven where either number is no whole one.
        needs_box: Whether the right number has to stand in a box.
    """

    def __init__(self, tolerance: float = 1e-6, *, needs_box: bool = False) -> None:
        if not 0 <= tolerance < 1:
            raise ValueError(f"tolerance is {tolerance}, and has to be between 0 and 1")
        self.tolerance = Fraction(tolerance)
        self.needs_box = needs_box

    def seed_session(self, row: Row) -> None:
        """Refuses a row without a number before the model is asked."""
        expected_number(row)

    def verify(self, row: Row, response: Row) -> Row:
        """Reward 1.0 or 0.0, both numbers as text, and what the reward rests on: `correct` and `boxed`."""
        expected = expected_number(row)
        text = text_of(response)
        extracted = extracted_text(text)
        correct = self.equal(number_in(extracted), expected)
        boxed = any(last_number(content) is not None for content in boxes(text))
        return {
            "reward": float(correct and (boxed or not self.needs_box)),
            "expected_answer": str(row["expected_answer"]),
            "extracted_answer": extracted,
            "correct": correct,
            "boxed": boxed,
        }

    def answers(self, row: Row) -> Answers:
        """The expected number, and some that a slip would give."""
        number = expected_number(row)
        slips = (number + 1, number - 1, number * 10, number + 10, number * 2)
        return Answers(str(row["expected_answer"]), [_written(slip) for slip in slips if not self.equal(slip, number)])

    def equal(self, number: Fraction | None, expected: Fraction) -> bool:
        """Whether a number counts as the expected one."""
        if number is None:
            return False
        if number.denominator == expected.denominator == 1:
            return number == expected
        return abs(number - expected) <= self.tolerance * abs(expected)


def expected_number(row: Row) -> Fraction:
    """The number that `expected_answer` is.

    Raises:
        RowError: There is none.
    """
    expected = row.get("expected_answer")
    known = isinstance(expected, str | int | float) and not isinstance(expected, bool)
    number = number_in(last_number(str(expected))) if known else None
    if number is None:
        raise RowError(f"numeric_answer needs a number as expected_answer, not {_shown(expected)}")
    return number


def extracted_text(text: str) -> str | None:
    """The number that a text answers with, as it is written there but for LaTeX."""
    for content in reversed(boxes(text)):
        if (found := last_number(content)) is not None:
            return found
    return last_number(text)


def last_number(text: str) -> str | None:
    """The last number in a text."""
    for latex, plain in PLAIN.items():
        text = text.replace(latex, plain)
    found = None
    for match in FOUND.finditer(LATEX_FRACTION.sub(r"\1/\2", text)):
        found = match.group()
    return found


def number_in(text: str | None) -> Fraction | None:
    """The exact value of a number as `last_number` finds it; None where it is too long, or divides by zero."""
    if text is None or len(text) > LONGEST:
        return None
    top, _, bottom = text.replace(",", "").replace(" ", "").partition("/")
    above, below = _plain(top), _plain(bottom or "1")
    return above / below if above is not None and below else None


def _plain(text: str) -> Fraction | None:
    exponent = text.lower().partition("e")[2]
    if exponent and abs(int(exponent)) > LARGEST_EXPONENT:
        return None
    try:
        return Fraction(text)
    except ValueError:
        return None


def _written(number: Fraction) -> str:
    return str(number.numerator) if number.denominator == 1 else f"{float(number):.10g}"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
