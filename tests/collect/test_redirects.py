"""Agents that lead elsewhere."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from pipeline.collect.answers import Answer, Failure
from pipeline.collect.client import ask, session
from pipeline.collect.options import AskOptions


@contextmanager
def leading_to(place: str) -> Iterator[str]:
    """An agent that leads every request to one place."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(307)
            self.send_header("Location", place)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_args: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    serving = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    serving.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        serving.join()


async def asked(url: str) -> Answer | Failure:
    options = AskOptions()
    async with session(options) as opened:
        return await ask(opened, url, b"{}", options)


@pytest.mark.parametrize(
    ("place", "type_", "words"),
    [
        ("/run", "TooManyRedirects", "the agent leads from one address to the next, and never answers"),
        ("ftp://x/y", "NonHttpUrlRedirectClientError", "the agent leads to what is no address of HTTP: ftp://x/y"),
    ],
)
def test_words(place: str, type_: str, words: str) -> None:
    with leading_to(place) as url:
        found = asyncio.run(asked(url))
    assert isinstance(found, Failure)
    assert (found.kind, found.type, found.message) == ("agent_request_failed", type_, words)
