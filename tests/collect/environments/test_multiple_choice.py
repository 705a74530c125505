"""One letter against the expected one, in three ways to grade."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.collect.environments.base import RowError
from pipeline.collect.environments.multiple_choice import COLON, LENIENT, MODES, STRICT, MultipleChoice

OPTIONS = [{"A": "Red fox"}, {"B": "Blue whale"}, {"C": "Green frog"}]


def said(text: str) -> dict[str, Any]:
    return {"output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}]}


def row(**fields: Any) -> dict[str, Any]:
    return {"options": OPTIONS, "expected_answer": "B", "grading_mode": STRICT, **fields}


def extracted(mode: str, text: str) -> object:
    verdict = MultipleChoice().verify(row(grading_mode=mode), said(text))
    assert set(verdict) == {"reward", "expected_answer", "extracted_answer"}
    assert verdict["expected_answer"] == "B"
    assert verdict["reward"] == float(verdict["extracted_answer"] == "B")
    return verdict["extracted_answer"]


@pytest.mark.parametrize(
    ("mode", "text", "letter"),
    [
        (STRICT, "\\boxed{B}", "B"),
        (STRICT, "\\boxed{ (C). }", "C"),
        (STRICT, "\\boxed{B} or \\boxed{C}", "B"),
        (STRICT, "\\boxed{two words}, \\boxed{C}", "C"),
        (STRICT, "\\boxed{Z}, \\boxed{B}", None),
        (STRICT, "\\boxed{b}", None),
        (STRICT, "\\boxed{\\text{B}}", None),
        (STRICT, "\\boxed{Blue whale}", None),
        (STRICT, "B", None),
        (STRICT, "", None),
        (LENIENT, "\\boxed{C}", "C"),
        (LENIENT, "\\boxed{the blue  whale}", "B"),
        (LENIENT, "\\boxed{\\text{Blue whale}}", "B"),
        (LENIENT, "\\boxed{red fox or blue whale}", None),
        (LENIENT, "blue whale", None),
        (COLON, "Answer: B", "B"),
        (COLON, "the answer : c\nAnswer: B", "C"),
        (COLON, "Answer: \\text{A}", "A"),
        (COLON, "Answer: green frog", "C"),
        (COLON, "Answer: green", None),
        (COLON, "Answer: Z", None),
        (COLON, "Answer:\nB", None),
        (COLON, "\\boxed{B}", None),
    ],
)
def test_graded(mode: str, text: str, letter: str | None) -> None:
    assert extracted(mode, text) == letter


def test_a_row_that_says_nothing_is_graded_as_the_environment_says() -> None:
    plain = {name: value for name, value in row().items() if name != "grading_mode"}
    assert MultipleChoice().verify(plain, said("Answer: B"))["reward"] == 0.0
    assert MultipleChoice(grading_mode=COLON).verify(plain, said("Answer: B"))["reward"] == 1.0


def test_a_small_expected_letter_is_the_same() -> None:
    assert MultipleChoice().verify(row(expected_answer=" b "), said("\\boxed{B}"))["reward"] == 1.0


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"options": None}, "options"),
        ({"options": []}, "options"),
        ({"options": ["A", "B"]}, "options"),
        ({"options": [{"one": "two letters"}]}, "options"),
        ({"expected_answer": "Z"}, "'Z' is none of the options A, B, C"),
        ({"expected_answer": None}, "expected_answer"),
        ({"grading_mode": "guess"}, "'guess'"),
    ],
)
def test_a_row_that_cannot_be_graded(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(RowError, match=named):
        MultipleChoice().verify(row(**fields), said("\\boxed{B}"))
    with pytest.raises(RowError, match=named):
        MultipleChoice().seed_session(row(**fields))


def test_no_grading_mode() -> None:
    with pytest.raises(ValueError, match="grading_mode"):
        MultipleChoice(grading_mode="guess")


def test_answers() -> None:
    assert MultipleChoice().answers(row()) == ("B", ["A", "C"])


@given(st.sampled_from(MODES), st.text())
def test_any_text_has_a_verdict(mode: str, text: str) -> None:
    assert extracted(mode, text) in {None, "A", "B", "C"}


@given(st.sampled_from("ABC"), st.text(st.characters(blacklist_characters="\\{}")))
def test_a_boxed_letter_is_found(letter: str, around: str) -> None:
    assert extracted(STRICT, f"{around}\\boxed{{{letter}}}{around}") == letter
    assert extracted(LENIENT, f"{around}\\boxed{{{letter}}}{around}") == letter
