r"""`multiple_choice`: one letter against `expected_answer`, as NeMo Gym's `mcqa` grades.

A row has `options`, a list of objects of one letter each, and `grading_mode`:
- `strict_single_letter_boxed`: the first `\boxed{…}` whose only letter is a capital one; it must be an option's.
- `lenient_boxed`: that, or else the one option whose text stands in the first box.
- `lenient_answer_colon`: what follows the first `Answer:` on its line, a letter or an option's text.
"""

from __future__ import annotations

import re

from pipeline.collect.environments.base import Answers, Row, RowError, boxes, text_of

STRICT, LENIENT, COLON = MODES = ("strict_single_letter_boxed", "lenient_boxed", "lenient_answer_colon")
ANSWER = re.compile(r"answer\s*:[^\S\n]*([^\n]+)", re.IGNORECASE)
TEXT_MACRO = re.compile(r"\\text\{([^{}]*)\}")


class MultipleChoice:
    """Rewards the right letter.

    Args:
        grading_mode: How rows are graded that do not say so themselves.
    """

    def __init__(self, grading_mode: str = STRICT) -> None:
        if grading_mode not in MODES:
            raise ValueError(f"grading_mode is {grading_mode!r}, and has to be one of {', '.join(MODES)}")
        self.grading_mode = grading_mode

    def seed_session(self, row: Row) -> None:
        """Refuses a row that cannot be graded before the model is asked."""
        expected_letter(row, options_of(row))
        self._mode(row)

    def verify(self, row: Row, response: Row) -> Row:
        """Reward 1.0 if the answer's letter is the expected one, else 0.0; with both letters."""
        options = options_of(row)
        expected = expected_letter(row, options)
        extracted = READERS[self._mode(row)](text_of(response), options)
        return {
            "reward": float(extracted == expected),
            "expected_answer": expected,
            "extracted_answer": extracted,
        }

    def answers(self, row: Row) -> Answers:
        """The expected letter, and the others."""
        options = options_of(row)
        expected = expected_letter(row, options)
        return Answers(expected, [letter for letter in options if letter != expected])

    def _mode(self, row: Row) -> str:
        mode = row.get("grading_mode") or self.grading_mode
        if mode not in MODES:
            raise RowError(f"grading_mode {str(mode)[:50]!r} is none of {', '.join(MODES)}")
        return str(mode)


def options_of(row: Row) -> dict[str, str]:
    """Capital letter → text of each option.

    Raises:
        RowError: There are none.
    """
    given = row.get("options")
    options: dict[str, str] = {}
    for option in given if isinstance(given, list) else []:
        for letter, text in option.items() if isinstance(option, dict) else ():
            if len(letter) == 1 and letter.isalpha():
                options[letter.upper()] = str(text)
    if not options:
        raise RowError('multiple_choice needs options, such as [{"A": "one"}, {"B": "two"}]')
    return options


def expected_letter(row: Row, options: dict[str, str]) -> str:
    """The letter that is right.

    Raises:
        RowError: `expected_answer` is no option.
    """
    letter = str(row.get("expected_answer", "")).strip().upper()
    if letter not in options:
        raise RowError(f"expected_answer {letter[:50]!r} is none of the options {', '.join(options)}")
    return letter


def strictly_boxed(text: str, options: dict[str, str]) -> str | None:
    """The letter of the first box that holds one capital letter and no other."""
    for content in boxes(text):
        letters = [character for character in content if character.isascii() and character.isalpha()]
        if len(letters) == 1 and letters[0].isupper():
            return letters[0] if letters[0] in options else None
    return None


def leniently_boxed(text: str, options: dict[str, str]) -> str | None:
    """The letter in a box, or that of the only option whose text stands in the first box."""
    letter = strictly_boxed(text, options)
    if letter is not None:
        return letter
    first = _plain(next(iter(boxes(text)), ""))
    named = [letter for letter, option in options.items() if _plain(option) and _plain(option) in first]
    return named[0] if len(named) == 1 else None


def after_colon(text: str, options: dict[str, str]) -> str | None:
    """The letter, or the option's text, after the first `Answer:`."""
    found = ANSWER.search(text)
    if found is None:
        return None
    said = _plain(found.group(1))
    if said.upper() in options:
        return said.upper()
    return next((letter for letter, option in options.items() if _plain(option) == said), None)


READERS = {STRICT: strictly_boxed, LENIENT: leniently_boxed, COLON: after_colon}


def _plain(text: str) -> str:
    return " ".join(TEXT_MACRO.sub(r"\1", text).lower().split())
