"""Addresses as they are typed, made and shown."""

import pytest

from pipeline.collect.addresses import base_url, checked_url, shown_url, url_of
from pipeline.errors import UsageError


@pytest.mark.parametrize("text", ["http://127.0.0.1:11000", "https://host", "http://[::1]:80", "https://h/a?b=c"])
def test_addresses(text: str) -> None:
    assert checked_url(f"{text}/", "--agent-url") == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "127.0.0.1:11000",
        "host/v1",
        "http://",
        "http://h:x",
        "http://h:99999",
        "http://h:0",
        "ftp://h",
        "http://[",
        "http://a..b:1",
        "http://.a:1",
        f"http://{'a' * 64}:1",
        "http://h:-3",
        "http://h:99999999",
        "http://a b:1",
    ],
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(UsageError, match="--agent-url is no http address"):
        checked_url(text, "--agent-url")


@pytest.mark.parametrize("text", ["http://h/?x=1", "http://h?x", "http://h#x"])
def test_what_paths_cannot_be_put_behind(text: str) -> None:
    assert checked_url(text, "--model-url") == text
    with pytest.raises(UsageError, match="--agent-url has something behind"):
        base_url(text, "--agent-url")


@pytest.mark.parametrize("text", ["https://me:hush@host/v1", "https://hush@host/v1", "hush", "ftp://me:hush@host"])
def test_what_may_be_secret_is_not_repeated(text: str) -> None:
    with pytest.raises(UsageError, match="--model-url") as refused:
        checked_url(text, "--model-url")
    assert "hush" not in str(refused.value)


def test_what_may_be_secret_is_not_shown() -> None:
    assert shown_url("https://host/v1/responses?key=hush#x") == "https://host/v1/responses"


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:12"),
        ("0.0.0.0", "http://127.0.0.1:12"),  # noqa: S104
        ("::", "http://[::1]:12"),
        ("::1", "http://[::1]:12"),
        ("h", "http://h:12"),
    ],
)
def test_a_host_and_a_port(host: str, url: str) -> None:
    assert url_of(host, 12) == url
