"""Lines that answers leave a server."""

import json
import re

import pytest

from pipeline.collect.answers import Answer, Failure, Read, not_coped_with, read_answer
from pipeline.collect.plans import Slot

SLOT = Slot((2, 3), "a", (("agent_ref", b'{"name": "a"}'),), 0, 0)


def test_a_rollout_keeps_its_text() -> None:
    body = b' {"reward": 0.10, "n": 12345678901234567890123,\n "response": {"usage": {"total_tokens": 1e0}}} \n'
    read = read_answer(Answer(200, "application/json", body), SLOT, 0)
    assert isinstance(read, Read)
    assert read.line == (
        b'{"reward": 0.10, "n": 12345678901234567890123,  "response": {"usage": {"total_tokens": 1e0}}'
        b',"_ng_task_index":2,"_ng_rollout_index":3,"agent_ref":{"name": "a"}}\n'
    )
    assert (read.reward, read.usage, read.failure) == (0.1, True, None)


@pytest.mark.parametrize("reward", ['"x"', "null", "NaN", "[1]"])
def test_a_reward_that_is_no_number_is_finished_all_the_same(reward: str) -> None:
    # What was not scored is for the profile to say; the peer keeps these rows too.
    read = read_answer(Answer(200, "application/json", b'{"reward": %s}' % reward.encode()), SLOT, 0)
    assert isinstance(read, Read)
    assert (read.reward, read.failure) == (None, None)


def test_a_class_that_is_null_is_none() -> None:
    read = read_answer(Answer(200, "", b'{"reward": 1, "_ng_failure_class": null}'), SLOT, 1)
    assert isinstance(read, Read)
    assert read.failure is None
    assert json.loads(read.line)["_ng_attempt_index"] == 1


@pytest.mark.parametrize(
    "body", [b"", b"x", b"[]", b'{"error": "text"}', b'{"error": {"class": "no such: class"}}', b"\xff"]
)
def test_an_error_without_words_has_a_class_by_its_status(body: bytes) -> None:
    found = read_answer(Answer(503, "text/plain", body), SLOT, 0)
    assert isinstance(found, Failure)
    assert (found.kind, found.status, found.retried, found.terminal) == ("agent_request_failed", 503, True, False)
    assert found.message


def test_a_long_error_is_cut() -> None:
    found = read_answer(Answer(500, "text/html", b"\xc3\xa9" * 10_000), SLOT, 0)
    assert isinstance(found, Failure)
    assert found.body == "é" * 2000


UNREADABLE = {
    b'{"reward": 1, "\\udc00k": 1}': "lone surrogate",
    b'{"reward": 1, "response": {"usage": {"\\udc00k": 1}}}': "lone surrogate",
    b'{"reward": 1, "_ng_environment_server": "\\udc00"}': "lone surrogate",
    b'{"reward": 1, "_ng_failure_class": "\\udc00"}': "lone surrogate",
    b'\0{"reward": 1}': "NUL",
    '{"reward": 1}'.encode("utf-16-le"): "NUL",
    b'{"reward": 1, "x": %b}' % (b"[" * 1100 + b"]" * 1100): "",
}


@pytest.mark.parametrize("body", UNREADABLE, ids=lambda body: str(body[:40]))
def test_what_the_profile_would_refuse_is_no_finished_rollout(body: bytes) -> None:
    found = read_answer(Answer(200, "application/json", body), SLOT, 0)
    assert isinstance(found, Failure)
    assert found.kind == "malformed_answer"
    assert UNREADABLE[body] in found.message


@pytest.mark.parametrize("number", [b"9" * 5000, b"-" + b"9" * 400, b"1e999"])
def test_a_number_beyond_a_double_is_finished_as_the_profile_has_it(number: bytes) -> None:
    read = read_answer(Answer(200, "application/json", b'{"reward": %b, "n": %b}' % (number, number)), SLOT, 0)
    assert isinstance(read, Read)
    assert (read.reward, read.failure) == (None, None)
    assert number in read.line


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ('"boo"', "boo"),
        ("5", "5"),
        ('""', "unnamed"),
        ('" "', "unnamed"),
        ("{}", "unnamed"),
        ("[1]", "unnamed"),
        ("false", "unnamed"),
    ],
)
def test_a_class_that_is_there_says_that_it_failed(said: str, kind: str) -> None:
    read = read_answer(Answer(200, "", b'{"reward": 1, "_ng_failure_class": %b}' % said.encode()), SLOT, 0)
    assert isinstance(read, Read)
    assert read.failure is not None
    assert read.failure.kind == kind
    assert json.loads(read.line)["_ng_failure_class"] == kind


@pytest.mark.parametrize("reward", ["null", '"1"', "NaN"])
@pytest.mark.parametrize("error", ['{"message": "gone"}', '"gone"'])
def test_an_error_without_a_reward_says_that_it_failed(reward: str, error: str) -> None:
    body = f'{{"reward": {reward}, "error": {error}, "response": {{}}}}'.encode()
    found = read_answer(Answer(200, "application/json", body), SLOT, 0)
    assert isinstance(found, Failure)
    assert (found.kind, found.message) == ("agent_run_error", "gone")


@pytest.mark.parametrize("members", ['"reward": 1, "error": {"message": "x"}', '"reward": null, "error": null'])
def test_an_error_beside_a_reward_is_a_field_like_others(members: str) -> None:
    read = read_answer(Answer(200, "application/json", f"{{{members}}}".encode()), SLOT, 0)
    assert isinstance(read, Read)
    assert read.failure is None


def test_a_bug_is_told_with_its_type_and_place() -> None:
    try:
        json.loads("x")
    except ValueError as error:
        failure = not_coped_with(error)
    assert (failure.kind, failure.type) == ("collector_error", "JSONDecodeError")
    assert re.search(r"please report it: Expecting value.*\(decoder\.py:[0-9]+\)", failure.message)
