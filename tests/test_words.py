"""Numbers of things in words."""

import pytest

from pipeline.words import counted


@pytest.mark.parametrize(
    ("number", "things", "words"),
    [
        (0, ("task",), "0 tasks"),
        (1, ("task",), "1 task"),
        (1200, ("task",), "1,200 tasks"),
        (1, ("verdict is", "verdicts are"), "1 verdict is"),
        (2, ("verdict is", "verdicts are"), "2 verdicts are"),
    ],
)
def test_one_is_no_plural(number: int, things: tuple[str, ...], words: str) -> None:
    assert counted(number, *things) == words
