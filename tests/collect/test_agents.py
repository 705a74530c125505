"""Agents that are wanted, and pauses that they ask for."""

import pytest

from pipeline.collect.agents import needed
from pipeline.collect.client import LONGEST_RETRY_AFTER, retry_after
from pipeline.errors import UsageError


def test_all_agents_that_are_not_there_are_named() -> None:
    assert needed({"a": "x", "b": "y"}, ["b", "b"], where="head") == {"b": "y"}
    with pytest.raises(UsageError, match="no agent is called c, d") as raised:
        needed({"a": "x"}, ["d", "a", "c"], where="head")
    assert raised.value.hint.endswith("There are a; rows say theirs in agent_ref.name.")


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("", 0.0), ("3", 3.0), ("0", 0.0), ("soon", 0.0), ("-1", 0.0), ("1e3", 0.0), ("99999", LONGEST_RETRY_AFTER)],
)
def test_retry_after(header: str, seconds: float) -> None:
    assert retry_after(header) == seconds


def test_retry_after_a_date() -> None:
    assert retry_after("Fri, 31 Dec 1999 23:59:59 GMT") == 0.0
    assert retry_after("Fri, 31 Dec 9999 23:59:59 GMT") == LONGEST_RETRY_AFTER
