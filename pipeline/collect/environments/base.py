"""What an environment is, and what every one needs: the answer's text, and a way to say that a row is of no use."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

Row = dict[str, Any]
BRACE = re.compile(r"[{}]")
LONGEST_SHOWN = 100


class Environment(Protocol):
    """Says what a response to a row is worth.

    Beside `verify` it may have `seed_session(row)`, called before the model is asked, and `answers(row)`, from which
    the demo model learns what is right: `(right, [wrong, …])`, `{"right": …, "wrong": […]}`, `Answers`, or what is
    right alone. Each may be a coroutine, which runs in the main thread and must not keep it; those that are none run
    in threads, several at a time.
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


NO_IDEA = ("no idea",)
"""What a model that errs says where nothing is known that is wrong."""
FORMS = "(right, [wrong, ...]), {'right': ..., 'wrong': [...]}, or what is right alone; each text or a number"


def answers_in(given: object) -> Answers:
    """The answers that an environment's `answers` returned, in any of its forms.

    Raises:
        ValueError: It is none of them.
    """
    right, wrong = given, None
    if isinstance(given, Mapping) and "right" in given and given.keys() <= {"right", "wrong"}:
        right, wrong = given["right"], given.get("wrong")
    elif isinstance(given, tuple | list) and len(given) == len(Answers._fields):
        right, wrong = given
    slips = NO_IDEA if wrong is None else wrong
    if not _is_answer(right) or not isinstance(slips, tuple | list) or not all(map(_is_answer, slips)):
        shown = repr(given)
        raise ValueError(f"returned {shown if len(shown) <= LONGEST_SHOWN else type(given).__name__}; it takes {FORMS}")
    return Answers(str(right), [str(slip) for slip in slips])


def _is_answer(value: object) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


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
