"""What a model is asked, what it answers, and whether the answer is a response."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, NamedTuple, Protocol

import orjson

from pipeline.collect.environments.base import Answers, Row
from pipeline.collect.serving.faults import malformed, model_failed, refused

SHOWN_CHARACTERS = 300
MEGABYTE = 1 << 20
FAILED = ("failed", "cancelled")


class Question(NamedTuple):
    """What a model is asked.

    Attributes:
        params: The row's `responses_create_params`.
        row: The row, for a model that looks at its key; empty where the model is asked without one.
        answers: What is right, for a model that pretends.
    """

    params: Row
    row: Row
    answers: Answers | None = None


class Reply(NamedTuple):
    """What comes back over HTTP.

    Attributes:
        status: The HTTP status.
        content_type: The media type, without parameters.
        body: The body; a longer one than allowed is cut, and then longer than allowed by one byte.
        retry_after: The header of that name.
    """

    status: int
    content_type: str
    body: bytes
    retry_after: str | None = None


class Model(Protocol):
    """Whatever answers questions."""

    name: str
    max_bytes: int
    pretends: bool
    """Whether it has to be told what is right."""

    async def reply(self, question: Question) -> Reply:
        """The model's answer as it came over HTTP.

        Raises:
            RolloutFaultError: Nothing came, or not in time.
        """
        ...

    async def close(self) -> None:
        """Ends every connection."""
        ...


def response_of(reply: Reply, *, max_bytes: int) -> Row:
    """The response in the Responses format that a reply holds.

    Raises:
        RolloutFaultError: It holds none.
    """
    if not HTTPStatus.OK <= reply.status < HTTPStatus.MULTIPLE_CHOICES:
        raise refused(reply.status, _said(reply), retry_after=reply.retry_after)
    if not reply.content_type.endswith("json"):
        raise malformed("ContentTypeError", f"the model answered with {reply.content_type or 'no type'}, not JSON")
    if len(reply.body) > max_bytes:
        raise malformed("ResponseTooLarge", f"the model's answer is longer than {max_bytes / MEGABYTE:g} MB")
    try:
        response = orjson.loads(reply.body)
    except orjson.JSONDecodeError as error:
        raise malformed("JSONDecodeError", f"the model's answer is no JSON: {error}") from None
    if not isinstance(response, dict) or not isinstance(response.get("output"), list):
        raise malformed("NoResponse", "the model's answer has no list called output: is this a Responses endpoint?")
    if response.get("status") in FAILED:
        raise model_failed(*_failure_in(response))
    return response


def _failure_in(response: Row) -> tuple[str, str]:
    """What a response that failed says of it: a code, and words."""
    error = response.get("error")
    told = error if isinstance(error, dict) else {}
    words = shortened(str(told.get("message") or ""))
    return str(told.get("code") or "NoCode"), f"the model's response is {response['status']}{words and f': {words}'}"


def _said(reply: Reply) -> str:
    """The status, and what the body says of it."""
    try:
        content: Any = orjson.loads(reply.body)
    except orjson.JSONDecodeError:
        content = None
    error = content.get("error") if isinstance(content, dict) else None
    told = error.get("message") if isinstance(error, dict) else error
    words = told if isinstance(told, str) else reply.body[: 4 * SHOWN_CHARACTERS].decode("utf-8", "replace")
    said = shortened(words)
    return f"the model answered with {reply.status}{f': {said}' if said else ''}"


def shortened(words: str) -> str:
    """At most so many characters, on one line."""
    line = " ".join(words.split())
    return f"{line[:SHOWN_CHARACTERS]}…" if len(line) > SHOWN_CHARACTERS else line
