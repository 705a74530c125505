"""What every environment reads: the text of a response, and the boxes in it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.collect.environments.base import boxes, text_of


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
