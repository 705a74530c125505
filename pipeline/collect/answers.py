"""An agent's answer → the line that it leaves: a finished rollout, or a failed attempt with its class.

The classes `agent_run_error` and `agent_request_failed`, and the fields of a failure, are those of NeMo Gym 0.7
(`rollout_collection.py`): the first says that the agent ran and failed, the second that nothing is known of it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pipeline import names
from pipeline.collect.plans import Slot
from pipeline.sources import rows
from pipeline.sources.text import with_members, with_more, with_nulls

RUN_ERROR, REQUEST_FAILED, TIMEOUT = "agent_run_error", "agent_request_failed", "timeout_exceeded"
EMPTY, MALFORMED, WRONG_TYPE, TOO_LARGE = "empty_answer", "malformed_answer", "wrong_content_type", "answer_too_large"
TOO_MANY_REQUESTS = 429
RETRIED = frozenset((TOO_MANY_REQUESTS, *range(500, 600)))
DID_NOT_RUN = frozenset({TOO_MANY_REQUESTS, 502, 503, 504})
"""Statuses of something that stands before an agent."""
OF_THE_ROW = frozenset({400, 413, 422})
"""Statuses that say that the row itself is refused: asking again would not help."""
REACHED = "reached"
"""What an error says that the rollout has no part in: false where nobody was there who could be asked."""
BODY_SHOWN = 2000
CLASS = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")


class Answer(NamedTuple):
    """What came back over HTTP; `retry_after` is how many seconds the agent wants to be left alone."""

    status: int
    content_type: str
    body: bytes
    retry_after: float = 0.0


class Failure(NamedTuple):
    """Why an attempt failed.

    Attributes:
        kind: The failure class.
        type: What exactly, as a name: of an exception, or of what the agent says.
        message: In words.
        status: The HTTP status, if there was one.
        body: The start of what the agent answered.
        terminal: Whether asking again is of no use.
        retried: Whether it is asked again at once.
        kept: Whether the attempt leaves a line.
    """

    kind: str
    type: str
    message: str
    status: int | None = None
    body: str | None = None
    terminal: bool = False
    retried: bool = False
    kept: bool = True


class Read(NamedTuple):
    """A line to be appended, and what to know of it.

    Attributes:
        line: The row with its key, as JSON with a line feed.
        failure: Why it is none that finished; None where it is one.
        reward: Its reward, where that is a number.
        usage: Whether it says how many tokens were used.
        nulls: How many NaN and Infinity were made null.
    """

    line: bytes
    failure: Failure | None = None
    reward: float | None = None
    usage: bool = True
    nulls: int = 0


def read_answer(answer: Answer, slot: Slot, attempt: int) -> Read | Failure:
    """What an answer means: a line of its own, or a failure whose line has to be made."""
    if answer.status != 200:  # noqa: PLR2004 - OK
        return _refused(answer)
    text = answer.body.strip()
    if not text:
        return Failure(EMPTY, "EmptyBody", "the agent answered with nothing", answer.status)
    try:
        with rows.numbers_of_any_length():
            row = rows.parse(memoryview(text))
    except (rows.BadLineError, RecursionError) as error:
        return _no_object(answer, str(error))
    keys = tuple(row)
    if declared := _declared(row, text, slot, attempt):
        return declared
    if names.REWARD not in keys:
        return _no_rollout(row, answer)
    text, nulls = with_nulls(text)
    response = rows.last(row, names.RESPONSE)
    usage = rows.last(response, names.USAGE) if isinstance(response, rows.OBJECTS) else None
    line = stamped(text, keys, slot, attempt or None)
    reward = _number(rows.last(row, names.REWARD))
    return Read(line, reward=reward, usage=isinstance(usage, rows.OBJECTS), nulls=nulls)


def failed(failure: Failure, slot: Slot, attempt: int) -> Read:
    """The line of an attempt that brought no row: no reward and no response, which nobody gave."""
    about: dict[str, Any] = {
        names.FAILURE_CLASS: failure.kind,
        names.FAILURE_TYPE: failure.type,
        names.FAILURE_MESSAGE: failure.message,
        names.FAILURE_STATUS: failure.status,
    }
    if failure.body:
        about[names.FAILURE_BODY] = failure.body
    if failure.terminal:
        about[names.FAILURE_TERMINAL] = True
    text = json.dumps(about, separators=(",", ":")).encode()
    return Read(stamped(text, tuple(about), slot, attempt), failure=failure)


def model_out_of_reach(answer: Answer) -> str:
    """What an agent says of a model that it cannot reach, in words; empty where it says nothing of the kind."""
    said = (_error_in(_object(answer.body)) or {}) if answer.status in DID_NOT_RUN else {}
    return (_text_in(said, "message") or "it is not there") if said.get(REACHED) is False else ""


def stamped(text: bytes, keys: Sequence[str], slot: Slot, attempt: int | None) -> bytes:
    """The row with its key, its agent and the attempt, on one line."""
    changes: dict[str, bytes] = {names.TASK: b"%d" % slot.key[0], names.ROLLOUT: b"%d" % slot.key[1]}
    changes |= {name: value for name, value in slot.kept if name == names.AGENT_REF or name not in keys}
    if attempt is not None:
        changes[names.ATTEMPT] = b"%d" % attempt
    text = text.replace(b"\n", b" ").replace(b"\r", b" ")
    return (with_more if changes.keys().isdisjoint(keys) else with_members)(text, changes) + b"\n"


def _refused(answer: Answer) -> Failure:
    """What an HTTP status other than OK means, with what the agent itself says of it."""
    said = _error_in(_object(answer.body)) or {}
    kind = REQUEST_FAILED if answer.status in DID_NOT_RUN else RUN_ERROR
    shown = answer.body[: BODY_SHOWN * 4].decode("utf-8", "replace")[:BODY_SHOWN]
    named = _class_in(said)
    return Failure(
        named or kind,
        _text_in(said, "type") or "HTTPStatus",
        _text_in(said, "message") or f"the agent answered with status {answer.status}",
        answer.status,
        None if said else shown,
        terminal=bool(said.get("terminal", answer.status in OF_THE_ROW)),
        retried=answer.status in RETRIED,
    )


def _no_object(answer: Answer, reason: str) -> Failure:
    shown = answer.body[:BODY_SHOWN].decode("utf-8", "replace")
    if "json" not in answer.content_type:
        message = f"the agent answered with {answer.content_type or 'no content type'}, not with JSON"
        return Failure(WRONG_TYPE, "ContentTypeError", message, answer.status, shown)
    return Failure(MALFORMED, "JSONDecodeError", f"the answer {reason}", answer.status, shown)


def _declared(row: Any, text: bytes, slot: Slot, attempt: int) -> Read | None:
    """A row that says itself that it failed."""
    kind = rows.label_text(rows.last(row, names.FAILURE_CLASS))
    if kind is None:
        return None
    failure = Failure(
        kind,
        rows.label_text(rows.last(row, names.FAILURE_TYPE)) or kind,
        rows.label_text(rows.last(row, names.FAILURE_MESSAGE)) or "the agent says that it failed",
        terminal=bool(rows.last(row, names.FAILURE_TERMINAL)),
        kept=not rows.last(row, names.NO_PERSIST),
    )
    text, nulls = with_nulls(text)
    return Read(stamped(text, tuple(row), slot, attempt), failure=failure, nulls=nulls)


def _no_rollout(row: Any, answer: Answer) -> Failure:
    """An object that is no rollout."""
    said = _error_in(_object(answer.body)) or {}
    shown = answer.body[:BODY_SHOWN].decode("utf-8", "replace")
    message = (
        _text_in(said, "message")
        or f"the answer has no {names.REWARD}; it has {', '.join(tuple(row)[:5]) or 'nothing'}"
    )
    kind = _class_in(said) or (RUN_ERROR if said else MALFORMED)
    return Failure(kind, _text_in(said, "type") or "NoReward", message, answer.status, None if said else shown)


def _object(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _error_in(found: Mapping[str, Any]) -> dict[str, Any] | None:
    error = found.get("error")
    return error if isinstance(error, dict) else None


def _class_in(said: Mapping[str, Any]) -> str | None:
    text = _text_in(said, "class")
    return text if text and CLASS.fullmatch(text) else None


def _text_in(said: Mapping[str, Any], key: str) -> str | None:
    value = said.get(key)
    return value[:BODY_SHOWN] if isinstance(value, str) and value else None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, rows.NUMBERS) and math.isfinite(value) else None
