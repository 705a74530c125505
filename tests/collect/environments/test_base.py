"""What every environment reads: the text of a response, and the boxes in it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.collect.environments.base import Answers, answers_in, boxes, text_of


def message(content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": content, **fields}


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ([message([{"type": "output_text", "text": "a"}, {"type": "output_text", "text": "b"}])], "a\nb"),
        ([message("plain")], "plain"),
        ([message([{"text": "first"}]), {"type": "function_call"}, message([{"text": "last"}])], "first\nlast"),
        ([message([{"text": "asked"}], role="user")], ""),
        ([{"type": "reasoning", "summary": [{"text": "thought"}]}], ""),
        ([message([{"type": "refusal", "refusal": "no"}])], ""),
        ([message(None), "text", None, message([None, {"text": 3}])], ""),
        ([], ""),
        (None, ""),
        ("text", ""),
    ],
)
def test_text_of(output: Any, text: str) -> None:
    assert text_of({"output": output}) == text


def test_text_of_nothing() -> None:
    assert text_of({}) == ""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("\\boxed{1}", ["1"]),
        ("\\boxed{\\frac{1}{2}} and \\boxed{3}", ["\\frac{1}{2}", "3"]),
        ("\\boxed{}", [""]),
        ("\\boxed{never closed {", []),
        ("\\boxed 3", []),
        ("a} \\boxed{b}", ["b"]),
    ],
)
def test_boxes(text: str, found: list[str]) -> None:
    assert boxes(text) == found


@given(
    st.lists(st.text(st.characters(blacklist_characters="{}\\"))), st.text(st.characters(blacklist_characters="{}\\"))
)
def test_what_is_boxed_is_found(contents: list[str], between: str) -> None:
    assert boxes(between + between.join(f"\\boxed{{{content}}}" for content in contents)) == contents


def test_a_long_text_is_quick() -> None:
    assert boxes("\\boxed{" * 50_000) == []
    assert len(boxes("\\boxed{1}" * 50_000)) == 50_000


@pytest.mark.parametrize(
    ("given", "answers"),
    [
        (("a", ["b", "c"]), ("a", ["b", "c"])),
        (["a", ("b",)], ("a", ["b"])),
        (Answers("a", ()), ("a", [])),
        ({"right": 4, "wrong": [5, 0.5]}, ("4", ["5", "0.5"])),
        ({"right": "a"}, ("a", ["no idea"])),
        ("a", ("a", ["no idea"])),
        (3, ("3", ["no idea"])),
    ],
)
def test_answers_in_all_their_forms(given: Any, answers: tuple[str, list[str]]) -> None:
    assert answers_in(given) == answers


@pytest.mark.parametrize(
    "given",
    [None, True, (), ("a",), ("a", "b"), (None, ["b"]), ("a", [None]), {"answer": "a"}, {"right": []}, ["x"] * 99],
)
def test_answers_in_no_form(given: Any) -> None:
    with pytest.raises(ValueError, match=r"returned .{1,100}; it takes \(right, \[wrong, \.\.\.\]\)"):
        answers_in(given)
