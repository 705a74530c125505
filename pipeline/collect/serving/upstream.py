"""A model behind an OpenAI-compatible Responses endpoint."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import orjson

from pipeline import names
from pipeline.collect.addresses import checked_url, shown_url
from pipeline.collect.api_key import blotted, blotted_words
from pipeline.collect.bodies import body_of
from pipeline.collect.environments.base import Row
from pipeline.collect.extra_body import extra_body
from pipeline.collect.open_files import SHORT
from pipeline.collect.serving.faults import RolloutFaultError, timed_out, unreachable
from pipeline.collect.serving.model import Question, Reply
from pipeline.sources import rows

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

CONNECT_SECONDS = 10.0
LONGEST_HEADER = 50


class Upstream:
    """Asks the endpoint, over a bounded number of connections.

    Args:
        name: The model's name there.
        url: The API's address, with or without `/responses` at its end; an address without a path means `/v1`.
        key: Sent as a bearer token; it is blotted out of everything that comes back.
        timeout: Seconds for one answer.
        max_connections: How many questions may be open at once; others wait, and their time does not run.
        max_bytes: The longest answer.
    """

    pretends = False

    def __init__(
        self, name: str, url: str, *, key: str | None, timeout: float, max_connections: int, max_bytes: int
    ) -> None:
        self.name = name
        self.url = responses_url(url)
        self.max_bytes = max_bytes
        self._key = key
        self._timeout = timeout
        self._free = asyncio.Semaphore(max_connections)
        self._session: ClientSession | None = None

    async def reply(self, question: Question) -> Reply:
        """Posts the question.

        Raises:
            RolloutFaultError: There is no connection, it broke, or time is up.
        """
        from aiohttp import ClientError

        content = orjson.dumps(request_body(question.params, self.name))
        async with self._free:
            try:
                async with asyncio.timeout(self._timeout):
                    async with self._connected().post(self.url, data=content, allow_redirects=False) as response:
                        body = await body_of(response, most=self.max_bytes)
                        return self._without_key(response, body)
            except ClientError as error:  # before TimeoutError: a connection that takes too long is both
                raise self._broken(error) from None
            except TimeoutError:
                raise timed_out(self._timeout) from None
            except OSError as error:
                raise self._broken(error) from None

    def _without_key(self, response: ClientResponse, body: bytes) -> Reply:
        """The reply as it may be passed on."""
        told = _retry_after(response)
        kind = blotted_words(response.content_type.lower(), self._key and self._key.lower())  # aiohttp makes it small
        return Reply(response.status, kind, blotted(body, self._key), told and blotted_words(told, self._key))

    async def close(self) -> None:
        """Ends every connection."""
        if self._session is not None:
            await self._session.close()

    def _connected(self) -> ClientSession:
        if self._session is None:
            from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector

            headers = {"Content-Type": "application/json", "Accept": "application/json"}
            if self._key is not None:
                headers["Authorization"] = f"Bearer {self._key}"
            self._session = ClientSession(
                connector=TCPConnector(limit=0),  # the semaphore counts
                timeout=ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
                cookie_jar=DummyCookieJar(),
                headers=headers,
            )
        return self._session

    def _broken(self, error: Exception) -> RolloutFaultError:
        from aiohttp import ClientConnectorError, ConnectionTimeoutError

        words = blotted_words(str(error) or "the connection broke", self._key)
        message = f"no answer from {shown_url(self.url)}: {words}"
        ours = getattr(error, "errno", None) in SHORT  # it says nothing of the model
        reached = ours or not isinstance(error, ClientConnectorError | ConnectionTimeoutError)
        return unreachable(type(error).__name__, message, reached=reached)


def _retry_after(response: ClientResponse) -> str | None:
    """The header, if it is one that can be passed on."""
    told = response.headers.get("Retry-After")
    fit = told is not None and len(told) <= LONGEST_HEADER and told.isascii() and told.isprintable()
    return told if fit else None


def responses_url(url: str) -> str:
    """The address that questions are posted to.

    Raises:
        UsageError: It is no address, or it holds a password.
    """
    parts = urlsplit(checked_url(url, "--model-url", like="https://HOST/v1"))
    path = parts.path.rstrip("/") or "/v1"
    return parts._replace(path=path if path.endswith("/responses") else f"{path}/responses").geturl()


def request_body(params: Row, model: str) -> dict[str, Any]:
    """What is posted: the row's parameters that say something, for this model, never as a stream.

    What `metadata.extra_body` holds as JSON text goes beside the parameters, as endpoints want a seed.
    """
    body = {name: value for name, value in params.items() if value is not None and name != "stream"}
    metadata = body.get(names.METADATA)
    if isinstance(metadata, dict) and names.EXTRA_BODY in metadata:
        body = {**beside(params), **body}
        rest = {name: value for name, value in metadata.items() if name != names.EXTRA_BODY}
        body = {**body, names.METADATA: rest} if rest else {key: body[key] for key in body if key != names.METADATA}
    return {**body, "model": model}


def beside(params: Row) -> Row:
    """The object in `metadata.extra_body`; empty where there is none, or something else."""
    try:
        return extra_body(params, read=orjson.loads)
    except rows.BadLineError:
        return {}
