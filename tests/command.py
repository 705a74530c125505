"""The command as a process of its own that is born with the command's modules, which is four times as fast.

What starting has to do with is tested with processes that start as its users start them: `tests/cli/processes.py`.
"""

import contextlib
import multiprocessing
import os
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import rollprof

TIMEOUT_SECONDS = 120
_births = multiprocessing.get_context("forkserver")
_births.set_forkserver_preload(["tests.preloaded"])


class Finished(NamedTuple):
    """What a command left behind."""

    exit_code: int
    stdout: str
    stderr: str


def run_command(args: Sequence[str], cwd: Path) -> Finished:
    """Runs `rollprof` with arguments in a folder; one that does not end in time is killed, which fails the test."""
    pipes = [_births.Pipe(duplex=False) for _ in range(2)]
    given = (list(args), str(cwd), dict(os.environ), *(writable for _, writable in pipes))
    process = _births.Process(target=_command, args=given)
    process.start()
    with ThreadPoolExecutor(len(pipes)) as readers:
        said = [readers.submit(_read, readable) for readable, _ in pipes]
        for _, writable in pipes:
            writable.close()
        process.join(TIMEOUT_SECONDS)
        exit_code = process.exitcode
        process.kill()
    stdout, stderr = (text.result() for text in said)
    assert exit_code is not None, f"the command does not end; it said: {stderr}"
    return Finished(exit_code, stdout, stderr)


def _command(args: list[str], cwd: str, environment: Mapping[str, str], stdout: Connection, stderr: Connection) -> None:
    """What the process does."""
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


def _read(pipe: Connection) -> str:
    with contextlib.closing(pipe), open(pipe.fileno(), "rb", closefd=False) as file:
        return file.read().decode("utf-8", "replace")
