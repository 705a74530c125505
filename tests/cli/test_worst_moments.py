"""Signals at the worst moments: none is lost, and none leaves more behind than an exit code."""

import contextlib
import os
import signal
from pathlib import Path

import pytest

from tests.cli.accidents import accident_at
from tests.cli.moments import (
    WORKERS,
    Held,
    assert_nothing_is_left,
    files_of_the_user,
    proceed,
    start_run,
    stop,
    while_it_writes,
    write_long_run,
)
from tests.cli.processes import Process, end_of, environment, run, start, wait_for, wait_until_idle, workers_of
from tests.cli.run_files import INPUTS, contents_of, write_run

TRIES = 4
SOME_BYTES = 1 << 22
UNTOUCHED = {"run.jsonl", f"run{INPUTS}"}


@pytest.mark.parametrize(("number", "exit_code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_is_not_lost_during_an_import(number: int, exit_code: int, tmp_path: Path) -> None:
    # What a handler raises in a call-back of the import system is printed and forgotten. The command then goes on, or
    # waits for ever where another thread imports too.
    write_run(tmp_path / "in")
    kill = f"os.kill(os.getpid(), {int(number)})"
    env = accident_at(("cb", "<frozen importlib._bootstrap>", "polars"), action=kill, folder=tmp_path)
    done = run(["profile", "run.jsonl"], tmp_path / "in", env=env)
    assert done.exit_code == exit_code, done.stderr
    assert "Traceback" not in done.stderr
    assert contents_of(tmp_path / "in").keys() == UNTOUCHED


def test_a_signal_is_not_taken_for_a_bug_of_polars(tmp_path: Path) -> None:
    # Polars wraps what is raised between two reads of a frame in an exception of its own.
    write_run(tmp_path / "in")
    kill = f"os.kill(os.getpid(), {int(signal.SIGTERM)})"
    env = accident_at(("frame", "lazy.py", "polars"), action=kill, folder=tmp_path)
    done = run(["profile", "run.jsonl"], tmp_path / "in", env=env)
    assert done.exit_code == 143, done.stderr
    assert "Traceback" not in done.stderr


def full_pipe() -> tuple[int, int]:
    """A pipe that takes no more, whoever writes to it waits."""
    readable, writable = os.pipe()
    os.set_blocking(writable, False)
    with contextlib.suppress(BlockingIOError):
        while os.write(writable, b"." * 4096):
            pass
    os.set_blocking(writable, True)
    return readable, writable


def test_a_second_signal_while_the_first_is_told(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "run.jsonl")
    readable, writable = full_pipe()
    process = start(["profile", "run.jsonl", "--rollouts-only", "--quiet"], tmp_path, stderr=writable)
    os.close(writable)
    wait_until_idle(process)
    for _ in range(2):
        process.send_signal(signal.SIGTERM)
        wait_until_idle(process, ended=True)
    with os.fdopen(readable, "rb") as stderr:
        said = stderr.read().decode().lstrip(".")
    assert end_of(process).exit_code in {143, -signal.SIGTERM}, said
    assert "Traceback" not in said


@pytest.mark.slow
def test_a_terminal_that_goes_away_leaves_no_temporary_file(tmp_path: Path) -> None:
    write_long_run(tmp_path)
    held = while_it_writes(tmp_path)
    before = files_of_the_user(tmp_path)
    os.kill(held.process.pid, signal.SIGHUP)
    proceed(held)
    assert end_of(held.process).exit_code in {-signal.SIGHUP, 128 + signal.SIGHUP}
    assert_nothing_is_left(tmp_path, before, held)


def catches(pid: int, number: int) -> bool:
    """Whether a process has a handler for a signal: Python sets one for SIGINT when it is ready to run."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return False
    (mask,) = [line.split()[1] for line in lines if line.startswith("SigCgt")]
    return bool(int(mask, 16) >> (number - 1) & 1)


def workers_about_to_run(process: Process) -> list[int]:
    """The workers, stopped when Python has begun in them and their own work has not."""
    wait_for(lambda: len(workers_of(process)) == WORKERS)
    workers = workers_of(process)
    wait_for(lambda: all(catches(worker, signal.SIGINT) for worker in workers))
    stop(*workers)
    return workers


@pytest.mark.slow
def test_ctrl_c_while_workers_start(tmp_path: Path) -> None:
    write_long_run(tmp_path)
    for _ in range(3):
        process = start_run(tmp_path)
        workers = workers_about_to_run(process)
        os.killpg(process.pid, signal.SIGINT)
        proceed(Held(process, workers))
        done = end_of(process)
        assert done.exit_code == 130
        assert "Traceback" not in done.stderr, done.stderr


def test_while_a_pipe_is_copied(tmp_path: Path) -> None:
    # A file cannot be closed by a handler that interrupts a write to it: "reentrant call".
    for number in range(TRIES):
        temporary = tmp_path / f"temporary{number}"
        temporary.mkdir()
        env = environment(TMPDIR=str(temporary))
        process = start(["profile", "/dev/zero", "--rollouts-only", "-o", "x"], tmp_path, env=env)
        wait_for(lambda place=temporary: any(size_of(path) > SOME_BYTES for path in place.iterdir()))  # type: ignore[misc]
        process.send_signal(signal.SIGTERM)
        done = end_of(process)
        assert done.exit_code == 143, done.stderr
        assert "Traceback" not in done.stderr
        assert not list(temporary.iterdir())


@pytest.mark.parametrize("module", ["typer", "pipeline/cli/peer"])
def test_while_the_command_is_still_being_loaded(module: str, tmp_path: Path) -> None:
    write_run(tmp_path / "in")
    interrupt = f"os.kill(os.getpid(), {int(signal.SIGINT)})"
    env = accident_at(("<module>", module, "sys"), action=interrupt, folder=tmp_path)
    done = run(["profile", "run.jsonl"], tmp_path / "in", env=env)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.exit_code in {130, -signal.SIGINT}


def size_of(path: Path) -> int:
    """How long a file is, 0 when it has gone meanwhile."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
