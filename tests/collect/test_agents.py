"""Agents that are wanted, and pauses that they ask for."""

import asyncio

import pytest

from pipeline.collect.agents import needed
from pipeline.collect.client import LONGEST_RETRY_AFTER, is_reachable, retry_after
from pipeline.errors import SourceError, UsageError


def test_all_agents_that_are_not_there_are_named() -> None:
    assert needed({"a": "http://x:1", "b": "http://y:1"}, ["b", "b"], where="head") == {"b": "http://y:1"}
    with pytest.raises(UsageError, match="no agent is called c, d") as raised:
        needed({"a": "x"}, ["d", "a", "c"], where="head")
    assert raised.value.hint.endswith("There are a; rows say theirs in agent_ref.name.")


@pytest.mark.parametrize("url", ["http://a..b:1", "http://h:99999999", "http://h:-3", "http://h:0"])
def test_an_address_that_is_none(url: str) -> None:
    assert not asyncio.run(is_reachable(url))
    assert needed({"a": "http://x:1", "b": url}, ["a"], where="head") == {"a": "http://x:1"}
    with pytest.raises(SourceError, match="gives the agent b the address"):
        needed({"b": url}, ["b"], where="head")


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("", 0.0),
        ("3", 3.0),
        ("0", 0.0),
        ("soon", 0.0),
        ("-1", 0.0),
        ("1e3", 0.0),
        ("99999", LONGEST_RETRY_AFTER),
        ("²", 0.0),
        ("9" * 400, LONGEST_RETRY_AFTER),
        ("Mon, 30 Nov 2026 09:33:18 +99999999999999", 0.0),
    ],
)
def test_retry_after(header: str, seconds: float) -> None:
    assert retry_after(header) == seconds


def test_retry_after_a_date() -> None:
    assert retry_after("Fri, 31 Dec 1999 23:59:59 GMT") == 0.0
    assert retry_after("Fri, 31 Dec 9999 23:59:59 GMT") == LONGEST_RETRY_AFTER
