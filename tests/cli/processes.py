"""The command as a process that can be watched, stopped and signalled."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.command import TIMEOUT_SECONDS, Finished

Process = subprocess.Popen[bytes]
DECIDED_HERE = (
    "COLUMNS",
    "NO_COLOR",
    "PYTHONIOENCODING",
    "PYTHONPATH",
    "PYTHONUNBUFFERED",
    "PYTHONUTF8",
    "PYTHONWARNINGS",
    "TERM",
    "TMPDIR",
)


def environment(**values: str) -> dict[str, str]:
    """The environment without what would change how the command speaks, and with these values."""
    inherited = {name: value for name, value in os.environ.items() if name not in DECIDED_HERE}
    return {**inherited, **values}


def start(
    args: Sequence[str | bytes],
    cwd: Path,
    *,
    env: dict[str, str] | None = None,
    program: Sequence[str] = (sys.executable, "-m", "rollprof"),
    **options: Any,
) -> Process:
    """Starts `rollprof` in a session of its own, its output in pipes unless options of `Popen` say otherwise."""
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    chosen: dict[str, Any] = {**pipes, "start_new_session": True, **options}
    return subprocess.Popen([*program, *args], cwd=cwd, env=env or environment(), **chosen)


def end_of(process: Process, *, timeout: float = TIMEOUT_SECONDS) -> Finished:
    """What a process leaves behind; one that does not end in time is killed, which fails the test."""
    try:
        stdout, stderr = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        _, stderr = process.communicate()
        raise AssertionError(f"the command does not end; it said: {text_of(stderr)}") from None
    return Finished(process.returncode, text_of(stdout), text_of(stderr))


def run(args: Sequence[str | bytes], cwd: Path, **options: Any) -> Finished:
    """Runs `rollprof` to its end, started as `start` does."""
    return end_of(start(args, cwd, **options))


def text_of(output: bytes | None) -> str:
    return (output or b"").decode("utf-8", "backslashreplace")


def wait_for(condition: Callable[[], bool], *, timeout: float = 30.0) -> None:
    """Looks again and again, without a pause, until a condition holds."""
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, f"waited {timeout} s in vain"


def children_of(process: Process) -> list[int]:
    """The processes that a process has started and that are still there."""
    try:
        listed = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    except OSError:
        return []
    return [int(child) for child in listed.split()]


def workers_of(process: Process) -> list[int]:
    """The children that run a program of their own; one just born is still a copy of its parent."""
    return [child for child in children_of(process) if _program_of(child) not in {b"", _program_of(process.pid)}]


def _program_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def has_ended(pid: int) -> bool:
    """Whether a process is gone, or only waits to be forgotten."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def wait_until_idle(process: Process, *, for_seconds: float = 0.3, ended: bool = False) -> None:
    """Waits until a process has used no processor time for a while: it waits for something itself.

    Args:
        process: What is watched.
        for_seconds: How long.
        ended: Whether it may end meanwhile.
    """
    used, since = -1, time.monotonic()
    while time.monotonic() - since < for_seconds:
        if process.poll() is not None:
            assert ended, "it has ended"
            return
        if (now := _ticks_of(process.pid)) != used:
            used, since = now, time.monotonic()
        time.sleep(0.02)


def _ticks_of(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


@contextmanager
def read_end(content: bytes) -> Iterator[str]:
    """The path of a pipe that holds this content, as a shell names it in `<(…)`; give its number to `pass_fds`."""
    readable, writable = os.pipe()
    os.set_inheritable(readable, True)

    def write() -> None:
        with os.fdopen(writable, "wb") as file:
            file.write(content)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield f"/dev/fd/{readable}"
    finally:
        os.close(readable)
        writer.join()
