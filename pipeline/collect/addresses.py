"""Addresses of HTTP: as they are typed, as they are made of a host and a port, and as they may be shown."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

from pipeline.errors import UsageError

EVERY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what servers may listen at
"""What stands for every address of the machine → the one to call from itself."""


SHOWN_HINT = "It would be seen in messages and logs; a model's key goes into a variable: --model-api-key-env."


def checked_url(text: str, option: str, *, like: str = "http://127.0.0.1:11000") -> str:
    """An address without the slash at its end.

    Args:
        text: What was typed.
        option: Where it was typed.
        like: How one is written.

    Raises:
        UsageError: It is none, or it holds a password.
    """
    parts = _parts(text)
    if parts is None:  # it is not repeated: whoever mixes options up may have typed a key
        raise UsageError(f"{option} is no http address", hint=f"Write it like {like}.")
    if parts.username or parts.password:
        raise UsageError(f"{option} holds a name or a password", hint=SHOWN_HINT)
    return text.rstrip("/")


def base_url(text: str, option: str) -> str:
    """An address that paths are put behind, without the slash at its end.

    Raises:
        UsageError: It is none, or it holds a password, a query or a fragment.
    """
    url = checked_url(text, option)
    if "?" in url or "#" in url:
        raise UsageError(f"{option} has something behind ? or #", hint="Write it like http://127.0.0.1:11000.")
    return url


def is_url(text: str) -> bool:
    """Whether it is an address of HTTP: its host can be looked up, its port is one."""
    return _parts(text) is not None


def _parts(text: str) -> SplitResult | None:
    try:
        parts = urlsplit(text)
        good = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        (parts.hostname or "").encode("idna")  # refuses a label that is empty or too long, as in a..b
    except ValueError:
        return None
    return parts if good and text.isprintable() and " " not in text else None


def url_of(host: str, port: int) -> str:
    """The address of a port, from this machine; a host of IPv6 stands in brackets."""
    near = EVERY_ADDRESS.get(host, host)
    return f"http://[{near}]:{port}" if ":" in near else f"http://{near}:{port}"


def shown_url(url: str) -> str:
    """An address without what may be secret in it."""
    return urlsplit(url)._replace(query="", fragment="").geturl()
