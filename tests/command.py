"""The command as a process of its own that is born with the command's modules, which is four times as fast.

It is born with Polars too, whose number of threads is then that of the tests whatever is asked for. What starting has
to do with is tested with processes that start as its users start them: `tests/cli/processes.py`.
"""

import multiprocessing
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import rollprof

TIMEOUT_SECONDS = 120
LATER_SECONDS = 10
"""How long what a command has started may hold its output after it has ended."""
PRELOADED = "tests.preloaded"
_births = multiprocessing.get_context("forkserver")
_births.set_forkserver_preload([PRELOADED])


class Finished(NamedTuple):
    """What a command left behind."""

    exit_code: int
    stdout: str
    stderr: str


class Reader(threading.Thread):
    """Reads a pipe to its end."""

    def __init__(self, pipe: Connection) -> None:
        super().__init__(daemon=True)
        self._pipe = pipe
        self.read = b""

    def run(self) -> None:
        with self._pipe, open(self._pipe.fileno(), "rb", closefd=False) as file:
            while block := file.read1():
                self.read += block

    @property
    def text(self) -> str:
        return self.read.decode("utf-8", "replace")


def run_command(args: Sequence[str], cwd: Path) -> Finished:
    """Runs `rollprof` with arguments in a folder; one that does not end in time is killed, which fails the test."""
    pipes = [_births.Pipe(duplex=False) for _ in range(2)]
    given = (list(args), str(cwd), dict(os.environ), *(writable for _, writable in pipes))
    process = _births.Process(target=_command, args=given)
    process.start()
    stdout, stderr = readers = [Reader(readable) for readable, _ in pipes]
    for reader in readers:
        reader.start()
    for _, writable in pipes:
        writable.close()
    process.join(TIMEOUT_SECONDS)
    exit_code = process.exitcode
    process.kill()
    for reader in readers:
        reader.join(LATER_SECONDS)
    assert exit_code is not None, f"the command does not end; it said: {stderr.text}"
    assert not any(reader.is_alive() for reader in readers), "what the command has started outlives it"
    return Finished(exit_code, stdout.text, stderr.text)


def _command(args: list[str], cwd: str, environment: Mapping[str, str], stdout: Connection, stderr: Connection) -> None:
    """What the process does."""
    assert PRELOADED in sys.modules, "the tests are to be run from the root of the repository"
    for descriptor, stream in enumerate((os.open(os.devnull, os.O_RDONLY), stdout.fileno(), stderr.fileno())):
        os.dup2(stream, descriptor)
    stdout.close()
    stderr.close()
    sys.stdout, sys.stderr = (open(descriptor, "w", buffering=1, closefd=False) for descriptor in (1, 2))  # noqa: SIM115
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    sys.argv = [rollprof.__file__, *args]  # as `python -m` has it
    rollprof.command()
