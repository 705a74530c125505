"""What an environment is, and what every one needs: the answer's text, and a way to say that a row is of no use."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

Row = dict[str, Any]
BRACE = re.compile(r"[{}]")


class Environment(Protocol):
    """Says what a response to a row is worth.

    Beside `verify` it may have `seed_session(row)`, called before the model is asked, and `answers(row) → Answers`,
    from which the demo model learns what is right. `verify` and `seed_session` may be coroutines; those that are not
    hold up every other rollout while they work.
    """

    def verify(self, row: Row, response: Row) -> Row:
        """The reward under `reward`, a number, and any other fields of the rollout.

        Args:
            row: The materialized row.
            response: The model's response in the Responses format.

        Raises:
            RowError: The row lacks what this environment needs.
        """
        ...


class Answers(NamedTuple):
    """What is right for a row, and what a model that errs might say, each as text in the form that is asked for."""

    right: str
    wrong: Sequence[str]


class RowError(ValueError):
    """The row is not one of this environment: asking again will not help."""


def text_of(response: Row) -> str:
    """The text of the assistant's messages, one a line; empty where there is none."""
    output = response.get("output")
    texts: list[str] = []
    for item in output if isinstance(output, list) else []:
        if isinstance(item, dict) and item.get("type") == "message" and item.get("role") == "assistant":
            texts += _texts(item.get("content"))
    return "\n".join(texts)


def _texts(content: object) -> list[str]:
    if isinstance(content, str):
        return [content]
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return [text for text in texts if isinstance(text, str)]


def boxes(text: str) -> list[str]:
    r"""The contents of every `\boxed{…}` in order; braces inside are matched, a box that is not closed is none."""
    mark = "\\boxed{"
    found: list[str] = []
    start = text.find(mark)
    while start >= 0:
        inside = start + len(mark)
        end = _closing(text, inside)
        if end is None:
            break
        found.append(text[inside:end])
        start = text.find(mark, end)
    return found


def _closing(text: str, start: int) -> int | None:
    depth = 1
    for brace in BRACE.finditer(text, start):
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            return brace.start()
    return None
