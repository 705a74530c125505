"""The command, caught at some moment of its work."""

import contextlib
import os
import signal
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.cli.processes import (
    Process,
    end_of,
    environment,
    has_ended,
    start,
    wait_for,
    wait_until_idle,
    workers_of,
)
from tests.cli.run_files import INPUTS, OUTPUTS, contents_of, rollouts, write_old_outputs, write_run
from tests.runs import planned

WORKERS = 2
KEYS = [(task, index) for task in range(1500) for index in range(4)]
TRIES = 5


class Held(NamedTuple):
    """The command, held at some point of its work, its stopped workers, and the pipe that it waits for."""

    process: Process
    workers: list[int]
    pipe: int | None = None


def write_long_run(folder: Path) -> None:
    """A run large enough for worker processes and for a while of writing, with an older profile beside it."""
    plan = [planned(*key, text="x" * 4000) for key in KEYS]
    write_run(folder / "in", plan=plan, done=rollouts(KEYS, text="x" * 1000))
    write_old_outputs(folder / "in")
    (folder / "temporary").mkdir()


def start_run(folder: Path, *arguments: str, **options: Any) -> Process:
    env = environment(TMPDIR=str(folder / "temporary"))
    return start(["profile", "run.jsonl", "--jobs", str(WORKERS), *arguments], folder / "in", env=env, **options)


def stop(*pids: int) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)


def proceed(held: Held) -> None:
    for pid in (*held.workers, held.process.pid):
        if not has_ended(pid):
            os.kill(pid, signal.SIGCONT)


def while_it_waits_for_a_pipe(folder: Path) -> Held:
    """Its rollouts come through a pipe that nothing is written to."""
    path = folder / "in" / "run.jsonl"
    path.unlink()
    os.mkfifo(path)
    process = start_run(folder)
    opened: list[int] = []

    def is_waited_for() -> bool:
        with contextlib.suppress(OSError):
            opened.append(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
        return bool(opened)

    wait_for(is_waited_for)
    wait_until_idle(process)
    return Held(process, [], opened[0])


def while_workers_read(folder: Path, *arguments: str) -> Held:
    for _ in range(TRIES):
        process = start_run(folder, *arguments)
        wait_for(partial(_has_ended_or_workers, process))
        workers = workers_of(process)
        if len(workers) == WORKERS:
            stop(*workers)
            wait_until_idle(process)
            return Held(process, workers)
    pytest.fail("the workers were never met at work")


def while_it_writes(folder: Path, **options: Any) -> Held:
    for _ in range(TRIES):
        process = start_run(folder, **options)
        wait_for(partial(_has_ended_or_writes, process, folder))
        stop(process.pid)
        if process.poll() is None and _is_writing(folder):
            return Held(process, workers_of(process))
        os.kill(process.pid, signal.SIGCONT)
        end_of(process)
        write_old_outputs(folder / "in")
    pytest.fail("the command was never met writing")


def _has_ended_or_workers(process: Process) -> bool:
    return process.poll() is not None or len(workers_of(process)) == WORKERS


def _has_ended_or_writes(process: Process, folder: Path) -> bool:
    return process.poll() is not None or _is_writing(folder)


def _is_writing(folder: Path) -> bool:
    usual = {"run.jsonl", f"run{INPUTS}", *(f"run{ending}" for ending in OUTPUTS)}
    return any(path.name not in usual for path in (folder / "in").iterdir())


def start_and_hold(folder: Path, *arguments: str) -> tuple[Process, int]:
    """Starts the command on `run.jsonl` and on inputs that it waits for; the pipe they are to be written to."""
    plan = folder / "plan"
    os.mkfifo(plan)
    process = start(["profile", "run.jsonl", "--inputs", "plan", *arguments], folder)
    found: list[int] = []

    def is_waited_for() -> bool:
        assert process.poll() is None, end_of(process).stderr
        try:
            found.append(os.open(plan, os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            return False
        return True

    wait_for(is_waited_for)
    return process, found[0]


def release(pipe: int, folder: Path) -> None:
    """Writes the inputs that the command waits for."""
    os.write(pipe, (folder / f"run{INPUTS}").read_bytes())
    os.close(pipe)


def files_of_the_user(folder: Path) -> dict[str, bytes]:
    """The files that are there before the command and must be there after it, with their content."""
    found = contents_of(folder).items()
    return {name: content for name, content in found if not name.endswith(".tmp") and not name.startswith("temporary/")}


def assert_nothing_is_left(folder: Path, before: dict[str, bytes], held: Held) -> None:
    """No child, no temporary file, and every file as it was."""
    wait_for(lambda: all(map(has_ended, held.workers)), timeout=5)  # a process that was killed needs a moment to go
    assert contents_of(folder) == before
