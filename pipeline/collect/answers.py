"""An agent's answer → the line that it leaves: a finished rollout, or a failed attempt with its class.

An answer that says itself that it failed is a failure, whatever else it holds: by `_ng_failure_class`, or by an `error`
where its reward is no number. What counts as finished is a line that the profile takes.

The classes `agent_run_error` and `agent_request_failed`, and the fields of a failure, are those of NeMo Gym 0.7
(`rollout_collection.py`): the first says that the agent ran and failed, the second that nothing is known of it.
"""

from __future__ import annotations

import json
import math
import struct
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pipeline import names
from pipeline.collect.plans import Slot
from pipeline.collect.said import ERROR, SHOWN, class_in, error_in, text_in
from pipeline.sources import rows
from pipeline.sources.rollouts import Rollouts
from pipeline.sources.text import with_members, with_more, with_nulls

RUN_ERROR, REQUEST_FAILED, TIMEOUT = "agent_run_error", "agent_request_failed", "timeout_exceeded"
COLLECTOR_ERROR = "collector_error"
"""What the collector itself could not cope with, in asking for one rollout or in reading its answer."""
EMPTY, MALFORMED, WRONG_TYPE, TOO_LARGE = "empty_answer", "malformed_answer", "wrong_content_type", "answer_too_large"
TOO_MANY_REQUESTS = 429
RETRIED = frozenset((TOO_MANY_REQUESTS, *range(500, 600)))
DID_NOT_RUN = frozenset({TOO_MANY_REQUESTS, 502, 503, 504})
"""Statuses of something that stands before an agent."""
OF_THE_ROW = frozenset({400, 413, 422})
"""Statuses that say that the row itself is refused: asking again would not help."""
REACHED = "reached"
"""What an error says that the rollout has no part in: false where nobody was there who could be asked."""
REFUSED_BY_PROFILE = (rows.BadLineError, struct.error, RecursionError)


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
    with rows.numbers_of_any_length():
        return _read(answer, slot, attempt)


def _read(answer: Answer, slot: Slot, attempt: int) -> Read | Failure:
    text = answer.body.strip()
    if not text:
        return Failure(EMPTY, "EmptyBody", "the agent answered with nothing", answer.status)
    try:
        row = rows.parse(memoryview(text))
    except (rows.BadLineError, RecursionError) as error:
        return _no_object(answer, str(error))
    try:
        if rows.last(row, names.FAILURE_CLASS) is not None:
            return _declared(row, text, slot, attempt)
        reward = _number(rows.last(row, names.REWARD))
        if names.REWARD not in tuple(row) or (reward is None and rows.is_truthy(rows.last(row, ERROR))):
            return _no_rollout(row, answer)
        return _finished(row, text, slot, attempt)._replace(reward=reward)
    except REFUSED_BY_PROFILE as error:
        shown = answer.body[:SHOWN].decode("utf-8", "replace")
        message = f"profile would refuse the answer: {error}"
        return Failure(MALFORMED, type(error).__name__, message, answer.status, shown)


def _finished(row: Any, text: bytes, slot: Slot, attempt: int) -> Read:
    """The line of a finished rollout, if the profile can read it."""
    keys = tuple(row)
    text, nulls = with_nulls(text)
    response = rows.last(row, names.RESPONSE)
    usage = rows.last(response, names.USAGE) if isinstance(response, rows.OBJECTS) else None
    line = stamped(text, keys, slot, attempt or None)
    Rollouts().add(0, 0, 0, memoryview(line)[:-1])
    return Read(line, usage=isinstance(usage, rows.OBJECTS), nulls=nulls)


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


def not_coped_with(error: Exception) -> Failure:
    """What failed with one rollout where nobody thought that it could: told with its place, the others go on."""
    place = traceback.extract_tb(error.__traceback__)[-1:]
    where = f" ({Path(place[0].filename).name}:{place[0].lineno})" if place else ""
    message = f"the collector could not deal with the answer; please report it: {error}{where}"
    return Failure(COLLECTOR_ERROR, type(error).__name__, message)


def model_out_of_reach(answer: Answer) -> str:
    """What an agent says of a model that it cannot reach, in words; empty where it says nothing of the kind."""
    said = error_in(answer.body) if answer.status in DID_NOT_RUN else {}
    return (text_in(said, "message") or "it is not there") if said.get(REACHED) is False else ""


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
    said = error_in(answer.body)
    kind = REQUEST_FAILED if answer.status in DID_NOT_RUN else RUN_ERROR
    shown = answer.body[: SHOWN * 4].decode("utf-8", "replace")[:SHOWN]
    named = class_in(said)
    return Failure(
        named or kind,
        text_in(said, "type") or "HTTPStatus",
        text_in(said, "message") or f"the agent answered with status {answer.status}",
        answer.status,
        None if said else shown,
        terminal=bool(said.get("terminal", answer.status in OF_THE_ROW)),
        retried=answer.status in RETRIED,
    )


def _no_object(answer: Answer, reason: str) -> Failure:
    shown = answer.body[:SHOWN].decode("utf-8", "replace")
    if "json" not in answer.content_type:
        message = f"the agent answered with {answer.content_type or 'no content type'}, not with JSON"
        return Failure(WRONG_TYPE, "ContentTypeError", message, answer.status, shown)
    return Failure(MALFORMED, "JSONDecodeError", f"the answer {reason}", answer.status, shown)


def _declared(row: Any, text: bytes, slot: Slot, attempt: int) -> Read:
    """A row that says itself that it failed: its class is there and not null, as NeMo Gym has it, named or not."""
    said = rows.last(row, names.FAILURE_CLASS)
    kind = (rows.label_text(said) or "").strip() or names.UNNAMED_FAILURE
    failure = Failure(
        kind,
        rows.label_text(rows.last(row, names.FAILURE_TYPE)) or kind,
        rows.label_text(rows.last(row, names.FAILURE_MESSAGE)) or "the agent says that it failed",
        terminal=rows.is_truthy(rows.last(row, names.FAILURE_TERMINAL)),
        kept=not rows.is_truthy(rows.last(row, names.NO_PERSIST)),
    )
    text, nulls = with_nulls(text)
    if said != kind:
        text = with_members(text, {names.FAILURE_CLASS: json.dumps(kind).encode()})
    return Read(stamped(text, tuple(row), slot, attempt), failure=failure, nulls=nulls)


def _no_rollout(row: Any, answer: Answer) -> Failure:
    """An object that is no rollout."""
    said = error_in(answer.body)
    shown = answer.body[:SHOWN].decode("utf-8", "replace")
    message = (
        text_in(said, "message")
        or f"the answer has no {names.REWARD} that is a number; it has {', '.join(tuple(row)[:5]) or 'nothing'}"
    )
    kind = class_in(said) or (RUN_ERROR if said else MALFORMED)
    return Failure(kind, text_in(said, "type") or "NoReward", message, answer.status, None if said else shown)


def _number(value: Any) -> float | None:
    try:
        return float(value) if isinstance(value, rows.NUMBERS) and math.isfinite(value) else None
    except OverflowError:  # a whole number beyond a double
        return None
