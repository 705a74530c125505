"""Asking agents over HTTP: one session, as many connections as rollouts at a time, answers no longer than is wanted."""

from __future__ import annotations

import asyncio
import contextlib
import io
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pipeline.collect.answers import REQUEST_FAILED, RETRIED, TIMEOUT, TOO_LARGE, Answer, Failure
from pipeline.collect.bodies import body_of
from pipeline.collect.open_files import MANY, allowed
from pipeline.collect.options import AskOptions
from pipeline.errors import SourceError, UsageError

if TYPE_CHECKING:
    import aiohttp

IDLE_SECONDS = 2.0
"""How long a connection without a request is kept: shorter than servers keep it (uvicorn: 5 s), so none ends in use."""
CONNECT_SECONDS = 10.0
LONGEST_RETRY_AFTER = 300.0
SPARE_FILES = 64
RUN = "/run"
DIGITS = re.compile(r"\s*[0-9]+\s*")


class ConnectionFault(Exception):  # noqa: N818 - it may be the agent's end, which is no error of a rollout
    """No answer came: the agent was not reached, or the connection ended before the answer did."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error) or type(error).__name__)
        self.failure = Failure(REQUEST_FAILED, type(error).__name__, str(self), retried=True)


@contextlib.asynccontextmanager
async def session(options: AskOptions) -> AsyncIterator[aiohttp.ClientSession]:
    """A session with as many connections as rollouts may run at a time; it keeps no cookies."""
    import aiohttp

    allow_open_files(options.concurrency + SPARE_FILES)
    connector = aiohttp.TCPConnector(
        limit=options.concurrency, limit_per_host=options.concurrency, keepalive_timeout=IDLE_SECONDS
    )
    timeout = aiohttp.ClientTimeout(total=options.timeout, sock_connect=CONNECT_SECONDS)
    async with aiohttp.ClientSession(
        connector=connector,
        timeout=timeout,
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"Accept": "application/json"},
    ) as opened:
        yield opened


async def ask(opened: aiohttp.ClientSession, url: str, row: bytes, options: AskOptions) -> Answer | Failure:
    """What an agent answers to a row; a failure where it takes too long or says too much.

    Raises:
        ConnectionFault: The agent was not reached, or went away.
    """
    import aiohttp

    headers = {"Content-Type": "application/json"}
    try:
        async with opened.post(f"{url}{RUN}", data=io.BytesIO(row), headers=headers) as response:
            body = await body_of(response, most=options.max_answer)
            if len(body) > options.max_answer:
                message = f"the answer is longer than {options.max_answer_mb:g} MB (--max-answer-mb)"
                return Failure(TOO_LARGE, "AnswerTooLarge", message, response.status)
            after = retry_after(response.headers.get("Retry-After", "")) if response.status in RETRIED else 0.0
            return Answer(response.status, response.content_type, body, after)
    except (aiohttp.ConnectionTimeoutError, aiohttp.ClientConnectionError, aiohttp.ClientPayloadError) as error:
        if isinstance(error, aiohttp.ServerTimeoutError) and not isinstance(error, aiohttp.ConnectionTimeoutError):
            return _timed_out(error, options)
        raise ConnectionFault(error) from error
    except TimeoutError as error:
        return _timed_out(error, options)
    except aiohttp.ClientError as error:
        return Failure(REQUEST_FAILED, type(error).__name__, _no_answer(error))


def _no_answer(error: aiohttp.ClientError) -> str:
    import aiohttp

    if isinstance(error, aiohttp.TooManyRedirects):
        return "the agent leads from one address to the next, and never answers"
    if isinstance(error, aiohttp.RedirectClientError):
        return f"the agent leads to what is no address of HTTP: {error}"
    return f"the answer is no HTTP: {error}"


def retry_after(header: str) -> float:
    """Seconds that a Retry-After header asks for, as a number or a date; 0 where it is neither (RFC 9110, 10.2.3)."""
    if DIGITS.fullmatch(header):
        seconds = float(header)
    else:
        try:
            seconds = (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError, OverflowError):
            return 0.0
    return min(max(0.0, seconds), LONGEST_RETRY_AFTER)


def _timed_out(error: BaseException, options: AskOptions) -> Failure:
    message = f"no answer within {options.timeout:g} s (--timeout)"
    return Failure(TIMEOUT, type(error).__name__, message)


async def is_reachable(url: str, *, seconds: float = CONNECT_SECONDS) -> bool:
    """Whether something takes connections at an address."""
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        async with asyncio.timeout(seconds):
            _, writer = await asyncio.open_connection(parts.hostname, port)
    except (OSError, TimeoutError, ValueError):  # a ValueError of a host or port that is none
        return False
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return True


async def fetched(url: str, *, seconds: float = CONNECT_SECONDS) -> Any:
    """The JSON at an address.

    Raises:
        SourceError: There is none.
    """
    import aiohttp

    hint = (
        "Start the environment with rollprof env start or gym env start, or name it with --head-server or --agent-url."
    )
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=seconds)) as opened,
            opened.get(url) as response,
        ):
            response.raise_for_status()
            return await response.json(content_type=None)
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
        reason = str(error) or type(error).__name__
        raise SourceError(f"cannot be read: {reason}", where=url, hint=hint) from error


def allow_open_files(wanted: int) -> None:
    """Raises this process's limit of open files, where it is too low for that many connections.

    Raises:
        UsageError: The system does not allow so many.
    """
    most = allowed(max(wanted, MANY))  # connections that wait for their next use, an agent's each, come on top
    if most < wanted:
        hint = f"Use --concurrency {max(1, most - SPARE_FILES)} or less, or raise it with ulimit -n."
        raise UsageError(f"{wanted} open files are needed, the limit is {most}", hint=hint)
