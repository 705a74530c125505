"""`rollprof env start` as users start it, and questions over HTTP."""

from __future__ import annotations

import http.client
import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tests.cli.processes import Process, end_of, environment, start
from tests.command import Finished

Row = dict[str, Any]
ROOT = Path(__file__).parents[2]


class Served(NamedTuple):
    """Servers that answer."""

    process: Process
    head: str
    agents: dict[str, str]
    ready: Row

    @property
    def url(self) -> str:
        """The only agent's address."""
        (url,) = self.agents.values()
        return url

    def run(self, row: Row, *, path: str = "/run") -> Reply:
        """Posts a row to the only agent."""
        return post(self.url + path, row)


class Reply(NamedTuple):
    """What came back over HTTP."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def content(self) -> Any:
        """The JSON in the body."""
        return json.loads(self.body)

    @property
    def error(self) -> tuple[int, str, str]:
        """The status, the class and the type of a failure."""
        error = self.content["error"]
        assert error["message"]
        return self.status, error["class"], error["type"]


@contextmanager
def started(args: Sequence[str], cwd: Path, **options: Any) -> Iterator[Process]:
    """The command as a process, which is not left behind; the test ends it, or `ended_within` does."""
    process = start(["env", "start", *args], cwd, **options)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        for pipe in filter(None, (process.stdin, process.stdout, process.stderr)):
            pipe.close()


@contextmanager
def served(*args: str, cwd: Path, port: str = "0", stderr: int = subprocess.PIPE, **variables: str) -> Iterator[Served]:
    """Servers with these arguments, stopped at the end; what they say then is looked at."""
    given = ["--json", "--head-port", "0", "--port", port, *args]
    with started(given, cwd, env=environment(**variables), stderr=stderr) as process:
        ready = first_line(process)
        agents = {name: about["url"] for name, about in ready["agents"].items()}
        yield Served(process, ready["head"], agents, ready)
        if process.poll() is None:
            process.terminate()
        done = ended_within(process, 10)
        assert "Traceback" not in done.stderr, done.stderr


def first_line(process: Process) -> Row:
    """The object that is printed when all is ready."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise AssertionError(f"it does not start: {end_of(process).stderr}")
    ready: Row = json.loads(line)
    return ready


def post(url: str, content: Any, *, timeout: float = 30.0) -> Reply:
    """Posts JSON, or bytes as they are."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return ask("POST", url, body, timeout=timeout)


def get(url: str) -> Reply:
    """Asks for a page."""
    return ask("GET", url, None, timeout=10.0)


def ask(method: str, url: str, body: bytes | None, *, timeout: float) -> Reply:
    """One request over a connection of its own."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout)
    try:
        connection.request(method, parts.path, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Reply(response.status, headers, response.read())
    finally:
        connection.close()


def row(text: str, *, task: int = 0, rollout: int = 0, **fields: Any) -> Row:
    """A materialized row of `numeric_answer`, if nothing else is said."""
    return {
        "responses_create_params": {"input": [{"role": "user", "content": text}]},
        "expected_answer": "42",
        "_ng_task_index": task,
        "_ng_rollout_index": rollout,
        **fields,
    }


def ended_within(process: Process, seconds: float) -> Finished:
    """What a process leaves that has been told to end."""
    return end_of(process, timeout=seconds)
