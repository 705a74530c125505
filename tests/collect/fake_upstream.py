"""A Responses endpoint that does what the prompt tells it, well or badly."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Row = dict[str, Any]
RESPONSE: Row = {
    "id": "resp_1",
    "object": "response",
    "status": "completed",
    "output": [
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "It is \\boxed{42}.", "annotations": []}],
        }
    ],
    "usage": {"input_tokens": 3, "output_tokens": 5, "total_tokens": 8},
}
MEGABYTE = 1 << 20


class Upstream:
    """The endpoint, and what it was asked.

    Attributes:
        url: Its address.
        response: What it answers if it is not told otherwise.
        asked: The body of each request.
        headers: The headers of each request.
        paths: The path of each request.
        open: How many requests are open, now and at most.
        gone: Set when a caller went away while it was waiting.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.response = RESPONSE
        self.asked: list[Row] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.open = [0, 0]
        self.gone = threading.Event()
        self.ended = threading.Event()
        self.lock = threading.Lock()


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    protocol_version = "HTTP/1.1"
    upstream: Upstream

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        upstream = self.upstream
        with upstream.lock:
            upstream.asked.append(body)
            upstream.headers.append(dict(self.headers.items()))
            upstream.paths.append(self.path)
            upstream.open[0] += 1
            upstream.open[1] = max(upstream.open)
        try:
            prompt = body["input"] if isinstance(body["input"], str) else body["input"][-1]["content"]
            BEHAVIOURS.get(prompt, answer)(self)
        finally:
            with upstream.lock:
                upstream.open[0] -= 1

    def send(self, status: int, body: bytes, content_type: str = "application/json", **headers: str) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        """Says nothing."""


def answer(handler: Handler) -> None:
    handler.send(200, json.dumps(handler.upstream.response).encode())


def slow(handler: Handler) -> None:
    handler.upstream.ended.wait(0.2)
    answer(handler)


def hang(handler: Handler) -> None:
    """Says nothing until the caller goes away, or the test ends."""
    handler.connection.settimeout(0.05)
    while not handler.upstream.ended.is_set():
        try:
            if not handler.connection.recv(1):
                handler.upstream.gone.set()
                break
        except TimeoutError:
            continue
        except OSError:
            handler.upstream.gone.set()
            break
    handler.close_connection = True


def cut(handler: Handler) -> None:
    """Ends in the middle of the body."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"id": ')
    handler.close_connection = True


def drop(handler: Handler) -> None:
    """Says nothing and ends."""
    handler.close_connection = True


def echo_key(handler: Handler) -> None:
    """Repeats the key, as some endpoints do."""
    said = {"error": {"message": f"Incorrect key: {handler.headers['Authorization']}"}}
    handler.send(401, json.dumps(said).encode())


def echo_escaped(handler: Handler) -> None:
    """Repeats the key in a response as JSON may write it: in a key, in a text, and in JSON inside of a text."""
    key = handler.headers["Authorization"].removeprefix("Bearer ")
    inside = "".join(f"\\u{ord(letter):04X}" for letter in key)
    body = json.dumps({**handler.upstream.response, f"k{key}": key, "arguments": f'{{"a": "{inside}"}}'})
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in key)
    handler.send(200, body.replace(f'"{key}"', f'"{escaped}"').replace("/", "\\/").encode())


def refuse_escaped(handler: Handler) -> None:
    """Repeats the key in an error, with its slashes escaped."""
    said = {"error": {"message": f"Incorrect key: {handler.headers['Authorization']}"}}
    handler.send(401, json.dumps(said).replace("/", "\\/").encode())


def echo_as_type(handler: Handler) -> None:
    """Repeats the key as a media type."""
    handler.send(200, b"", f"x/{handler.headers['Authorization'].rpartition('/')[2]}")


def echo_as_header(handler: Handler) -> None:
    """Repeats the key as the time to wait."""
    handler.send(429, b"", Retry_After=handler.headers["Authorization"])


def _sends(status: int, body: bytes, content_type: str = "application/json", **headers: str) -> Callable[..., None]:
    return lambda handler: handler.send(status, body, content_type, **headers)


BEHAVIOURS: dict[str, Callable[[Handler], None]] = {
    "slow": slow,
    "hang": hang,
    "cut": cut,
    "drop": drop,
    "echo key": echo_key,
    "echo escaped": echo_escaped,
    "refuse escaped": refuse_escaped,
    "echo as type": echo_as_type,
    "echo as header": echo_as_header,
    "429": _sends(429, b'{"error": {"message": "slow down"}}', Retry_After="7"),
    "500": _sends(500, b"a plain\nfailure", "text/plain"),
    "400": _sends(400, b'{"error": {"message": "no such parameter"}}'),
    "302": _sends(302, b"", Location="http://127.0.0.1:9/elsewhere"),
    "html": _sends(200, b"<html>a page</html>", "text/html; charset=utf-8"),
    "malformed": _sends(200, b'{"id": "resp_'),
    "empty body": _sends(200, b""),
    "a list": _sends(200, b"[1, 2]"),
    "no output": _sends(200, b'{"id": "resp_1", "choices": []}'),
    "not utf-8": _sends(200, b'{"output": ["\xff"]}'),
    "failed": _sends(200, b'{"status": "failed", "error": {"code": "server_error", "message": "sorry"}, "output": []}'),
    "odd header": _sends(429, b"", Retry_After="\xfc" * 3),
    "10 MB": _sends(200, json.dumps({**RESPONSE, "padding": "x" * (10 * MEGABYTE)}).encode()),
}


@contextmanager
def upstream(port: int = 0) -> Iterator[Upstream]:
    """An endpoint on a port of this machine, by default a free one."""
    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    told = Upstream(f"http://127.0.0.1:{server.server_address[1]}/v1")
    server.RequestHandlerClass = type("Bound", (Handler,), {"upstream": told})
    serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    serving.start()
    try:
        yield told
    finally:
        told.ended.set()
        server.shutdown()
        server.server_close()
        serving.join()
