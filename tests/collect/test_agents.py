"""Where agents are: addresses as they are typed, and as a head server says them."""

import pytest

from pipeline.collect.agents import _address, checked_url, needed
from pipeline.collect.client import LONGEST_RETRY_AFTER, retry_after
from pipeline.errors import UsageError


@pytest.mark.parametrize("text", ["http://127.0.0.1:11000", "https://host", "http://[::1]:80"])
def test_addresses(text: str) -> None:
    assert checked_url(f"{text}/", "--agent-url") == text


@pytest.mark.parametrize(
    "text", ["", "127.0.0.1:11000", "http://", "http://h:x", "http://h:99999", "ftp://h", "http://["]
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(UsageError, match="--agent-url"):
        checked_url(text, "--agent-url")


@pytest.mark.parametrize(
    ("entry", "address"),
    [
        (
            {"responses_api_agents": {"simple": {"host": "127.0.0.1", "port": 12, "entrypoint": "app.py"}}},
            "http://127.0.0.1:12",
        ),
        ({"responses_api_agents": {"simple": {"host": "0.0.0.0", "port": 12}}}, "http://127.0.0.1:12"),  # noqa: S104
        ({"responses_api_agents": {"simple": {"host": "::1", "port": 12}}}, "http://[::1]:12"),
        ({"responses_api_agents": {"simple": {"port": 12}}}, "http://127.0.0.1:12"),
        ({"responses_api_agents": {"simple": {"host": "h"}}}, None),
        ({"responses_api_agents": {}}, None),
        ({"responses_api_models": {"m": {"host": "h", "port": 12}}}, None),
        ("text", None),
        (None, None),
    ],
)
def test_what_a_head_says(entry: object, address: str | None) -> None:
    assert _address(entry) == address


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
