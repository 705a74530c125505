"""The last number of an answer against the expected one."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.collect.environments.base import RowError
from pipeline.collect.environments.numeric_answer import NumericAnswer, extracted_text, number_in


def said(text: str) -> dict[str, Any]:
    return {"output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}]}


def reward(expected: object, text: str, **options: Any) -> float:
    verdict = NumericAnswer(**options).verify({"expected_answer": expected}, said(text))
    assert set(verdict) == {"reward", "expected_answer", "extracted_answer", "correct", "boxed"}
    assert verdict["expected_answer"] == str(expected)
    given_reward: float = verdict["reward"]
    return given_reward


@pytest.mark.parametrize(
    ("text", "extracted"),
    [
        ("so it is 12", "12"),
        ("12 apples, then 13.", "13"),
        ("\\boxed{12} and not 13", "12"),
        ("first \\boxed{1}, then \\boxed{2}", "2"),
        ("\\boxed{twelve}, that is 12", "12"),
        ("\\boxed{1} or \\boxed{none}", "1"),
        ("1,234,567", "1,234,567"),
        ("\\$1{,}234.50", "1,234.50"),
        ("1\\,000", "1000"),
        ("about 1e3", "1e3"),
        ("1.5E-3 m", "1.5E-3"),
        ("3/4 of it", "3/4"),
        ("3 / 4", "3 / 4"),
        ("\\boxed{\\dfrac{3}{4}}", "3/4"),
        ("-\\frac{1}{2}", "-1/2"),
        (".5", ".5"),
        ("x = -3", "-3"),
        ("\u22127", "-7"),
        ("10-3", "3"),
        ("(5)-3", "3"),
        ("+4", "+4"),
        ("50%", "50"),
        ("5km", "5"),
        ("$5", "5"),
        ("1.5.", "1.5"),
        ("H2O", None),
        ("none", None),
        ("", None),
    ],
)
def test_extracted(text: str, extracted: str | None) -> None:
    assert extracted_text(text) == extracted


@pytest.mark.parametrize(
    ("expected", "text", "right"),
    [
        ("1000", "1,000", True),
        ("1,000", "1000.0", True),
        (1000, "1e3", True),
        (0.75, "3/4", True),
        ("3/4", "0.75", True),
        ("1/3", "2/6", True),
        ("1/3", "0.3333333", True),
        ("1/3", "0.333", False),
        ("-2", "\\boxed{-2}", True),
        ("-2", "2", False),
        ("1000000", "1000001", False),
        ("1000000", "1000000.5", True),
        ("0", "0.0000001", False),
        ("0", "-0", True),
        ("\\$1{,}200", "1200", True),
        ("42", "", False),
        ("42", "3/0", False),
        ("42", "1e999999999", False),
        ("42", "9" * 5000, False),
    ],
)
def test_reward(expected: object, text: str, right: bool) -> None:
    assert reward(expected, text) == float(right)


@pytest.mark.parametrize(("tolerance", "right"), [(0.0, False), (0.02, True)])
def test_tolerance(tolerance: float, right: bool) -> None:
    assert reward("3.14", "3.1", tolerance=tolerance) == float(right)


@pytest.mark.parametrize(
    ("text", "correct", "boxed"),
    [
        ("\\boxed{42}", True, True),
        ("so it is 42", True, False),
        ("\\boxed{41}", False, True),
        ("\\boxed{none}, that is 42", True, False),
        ("\\boxed{42", True, False),
        ("", False, False),
    ],
)
def test_a_number_that_needs_its_box(text: str, correct: bool, boxed: bool) -> None:
    for needs_box in (False, True):
        verdict = NumericAnswer(needs_box=needs_box).verify({"expected_answer": 42}, said(text))
        assert (verdict["correct"], verdict["boxed"]) == (correct, boxed)
        assert verdict["reward"] == float(correct and (boxed or not needs_box))


@pytest.mark.parametrize("row", [{}, {"expected_answer": None}, {"expected_answer": "none"}, {"expected_answer": True}])
def test_a_row_without_a_number(row: dict[str, Any]) -> None:
    with pytest.raises(RowError, match="expected_answer"):
        NumericAnswer().verify(row, said("1"))
    with pytest.raises(RowError, match="expected_answer"):
        NumericAnswer().seed_session(row)


@pytest.mark.parametrize("tolerance", [-1.0, 1.0, float("nan")])
def test_no_tolerance(tolerance: float) -> None:
    with pytest.raises(ValueError, match="tolerance"):
        NumericAnswer(tolerance=tolerance)


@given(st.integers(-(10**12), 10**12), st.text(st.characters(blacklist_categories=("Nd", "Cs"))))
def test_a_number_is_found_however_it_is_written(number: int, before: str) -> None:
    for written in (f"{number}", f"{number:,}", f"{number}.0"):
        assert number_in(extracted_text(f"{before} \\boxed{{{written}}}")) == number
        assert reward(number, f"{before} is\n{written}.") == 1.0


@given(st.fractions(max_denominator=10**6).filter(lambda number: abs(number) < 10**9))
def test_fractions_are_exact(number: Fraction) -> None:
    assert number_in(extracted_text(f"{number.numerator}/{number.denominator}")) == number


@given(st.integers(-(10**9), 10**9))
def test_wrong_answers_are_wrong(number: int) -> None:
    environment = NumericAnswer()
    right, wrong = environment.answers({"expected_answer": str(number)})
    assert reward(number, right) == 1.0
    assert wrong
    assert all(reward(number, slip) == 0.0 for slip in wrong)


@given(st.text())
def test_any_text_has_a_verdict(text: str) -> None:
    assert reward(42, text) in {0.0, 1.0}
