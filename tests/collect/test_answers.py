"""Lines that answers leave a server."""

import json

import pytest

from pipeline.collect.answers import Answer, Failure, Read, read_answer
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
