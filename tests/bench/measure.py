"""Whole processes: seconds, processor time and peak memory of everything a command starts."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from tests.bench.tree import adopt_orphans, held_bytes, reap_orphans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import IO

ROOT = Path(__file__).parents[2]
_SAMPLE_SECONDS = 0.01


class Command(NamedTuple):
    """Words of a command line, and the folder that is emptied before each run of it."""

    words: tuple[str, ...]
    scratch: Path | None = None


class Run(NamedTuple):
    """What a run took: seconds of wall and of user + system time, bytes (0 when nobody looked)."""

    wall: float
    cpu: float
    peak: int
    stdout: str


class Spread(NamedTuple):
    """A median with its range."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """The spread of at least one value."""
        ordered = sorted(values)
        return cls(median(ordered), ordered[0], ordered[-1])


class Pairs(NamedTuple):
    """Runs of two commands in turn; what is compared are neighbours in time."""

    a: list[Run]
    b: list[Run]

    def ratio(self, figure: Callable[[Run], float] = lambda run: run.wall) -> Spread:
        """Of a to b, pair by pair."""
        return Spread.of(figure(a) / figure(b) for a, b in zip(self.a, self.b, strict=True))


class CommandFailedError(Exception):
    """A command could not be started or ended with another code than 0."""


def paired(a: Command, b: Command, runs: int) -> Pairs:
    """Run A B A B ... after one of each that is not counted."""
    run(a), run(b)
    both = [(run(a), run(b)) for _ in range(runs)]
    return Pairs([first for first, _ in both], [second for _, second in both])


def repeated(command: Command, runs: int) -> list[Run]:
    """Runs of one command after one that is not counted."""
    return [run(command) for _ in range(runs + 1)][1:]


def peaks(command: Command, runs: int) -> Spread:
    """Peak memory of all processes together, in bytes; looking costs time, so nothing else is measured."""
    return Spread.of(run(command, look=True).peak for _ in range(runs))


def run(command: Command, *, look: bool = False) -> Run:
    """Run a command to its end.

    Args:
        look: Sample the memory every 10 ms or so.

    Raises:
        CommandFailedError: With the exit code and the last line of stderr.
    """
    if command.scratch:
        shutil.rmtree(command.scratch, ignore_errors=True)
        command.scratch.mkdir(parents=True)
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        wall, cpu, peak, code = _watched(command, stdout, stderr, look=look)
        if code:
            raise CommandFailedError(f"exit {code}: {_last_line(stderr)}")
        stdout.seek(0)
        return Run(wall, cpu, peak, stdout.read().decode(errors="replace"))


def _watched(command: Command, stdout: IO[bytes], stderr: IO[bytes], *, look: bool) -> tuple[float, float, int, int]:
    adopt_orphans()
    start = time.perf_counter()
    try:
        process = subprocess.Popen(
            command.words,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            cwd=ROOT,
            start_new_session=True,
        )
    except OSError as error:
        raise CommandFailedError(f"cannot start {command.words[0]}: {error.strerror}") from error
    try:
        peak = _peak_until_end(process.pid) if look and sys.platform == "linux" else 0
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        cpu = usage.ru_utime + usage.ru_stime + reap_orphans()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return wall, cpu, peak, process.returncode


def _peak_until_end(pid: int) -> int:
    peak = 0
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        peak = max(peak, held_bytes(os.getpid()))
        time.sleep(_SAMPLE_SECONDS)
    return peak


def _last_line(file: IO[bytes]) -> str:
    file.seek(0)
    lines = file.read().decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "nothing on stderr")
