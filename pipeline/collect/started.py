"""An environment of our own: `rollprof env start` as a child, which ends with us however we end."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pipeline.errors import Exit, RollprofError, SourceError
from pipeline.leftovers import undone

READY_SECONDS = 120.0
STOP_SECONDS = 5.0
LINES_SHOWN = 5


class StartError(RollprofError):
    """The environment refused to start, for the reason it gives."""


@dataclass
class Started:
    """A running environment.

    Attributes:
        process: The child.
        agents: The address of each of its agents.
        model: The model that they ask.
        key_variable: The variable that holds its key, if there is one.
        said: What it says on standard error.
    """

    process: subprocess.Popen[bytes]
    agents: dict[str, str]
    model: str
    key_variable: str | None
    said: IO[bytes]

    def ended(self) -> str:
        """How it ended, in words; empty while it runs."""
        code = self.process.poll()
        if code is None:
            return ""
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return f"{how}{_indented(self.last_lines())}"

    def last_lines(self) -> list[str]:
        """The last lines that it said."""
        return _last_lines(self.said)


@contextlib.contextmanager
def started(options: Sequence[str]) -> Iterator[Started]:
    """Starts an environment with these options, and stops it at the end.

    Its standard input is a pipe that closes when we end, killed or not; that ends it too.

    Raises:
        RollprofError: It does not start.
    """
    command = [sys.executable, "-P", "-m", "rollprof", "env", "start", *options]
    command += ["--port", "0", "--head-port", "0", "--json", "--exit-with-stdin"]
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, env=_environment(), process_group=0
        )
        with undone(lambda: _stop(process)):
            ready = _ready(process, said)
            agents = {name: about["url"] for name, about in ready["agents"].items()}
            yield Started(process, agents, str(ready.get("model")), ready.get("model_api_key_env"), said)


def _environment() -> dict[str, str]:
    """Our environment, in which the child finds the same packages, and none of the working folder."""
    root = str(Path(__file__).parents[2])
    places = [place for place in sys.path if place]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(places if root in places else [root, *places])}


def _ready(process: subprocess.Popen[bytes], said: IO[bytes]) -> Mapping[str, Any]:
    """The line that says where everything is."""
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    line = _first_line(process.stdout.fileno())
    try:
        told = json.loads(line)
    except ValueError:
        told = {}
    if "agents" in told:
        return dict(told)
    if "message" in told:
        places = [place for of_kind in told.get("places", {}).values() for place in of_kind]
        error = StartError(told["message"], where=places[0] if places else "", hint=told.get("hint", ""))
        error.kind, error.exit_code = told["kind"], Exit(told["exit_code"])
        raise error
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=1)
    raise SourceError(
        f"the environment did not start{_indented(_last_lines(said))}", hint="Try it alone: rollprof env start …"
    )


def _first_line(descriptor: int) -> bytes:
    """The first line that comes; what there is of it where the time is over or the writer ends."""
    line = b""
    end = time.monotonic() + READY_SECONDS
    while not line.endswith(b"\n"):
        readable, _, _ = select.select([descriptor], [], [], max(0.0, end - time.monotonic()))
        block = os.read(descriptor, 1 << 16) if readable else b""
        if not block:
            break
        line += block
    return line


def _last_lines(said: IO[bytes]) -> list[str]:
    size = said.seek(0, os.SEEK_END)
    said.seek(max(0, size - 4096))
    return said.read().decode("utf-8", "backslashreplace").splitlines()[-LINES_SHOWN:]


def _indented(lines: Sequence[str]) -> str:
    return "".join(f"\n  {line}" for line in lines)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Asks it to end, and sees to it."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
