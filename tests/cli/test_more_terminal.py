"""A signal leaves the terminal as it was, and is no bug."""

import contextlib
import os
import pty
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.processes import end_of, environment, start, wait_until_idle
from tests.cli.run_files import INPUTS
from tests.cli.terminal import WORKERS, on_terminal, workers_that_pause, write_run_for_workers

HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]


@pytest.mark.slow
@pytest.mark.parametrize(("number", "exit_code"), SIGNALS)
def test_the_cursor_comes_back(number: int, exit_code: int, tmp_path: Path) -> None:
    write_run_for_workers(tmp_path, tasks=800)
    done = on_terminal(
        ["profile", "run.jsonl", "--jobs", str(WORKERS)],
        tmp_path,
        hinder=workers_that_pause,
        at_bar=lambda process: os.kill(process.pid, number),
    )
    assert done.exit_code == exit_code, done.stdout[-3000:]
    assert done.stdout.count(SHOW_CURSOR) == done.stdout.count(HIDE_CURSOR)


def full_terminal() -> tuple[int, int]:
    """A terminal that takes no more, as after Ctrl-S or over a slow line."""
    ours, its = pty.openpty()
    os.set_blocking(its, False)
    with contextlib.suppress(BlockingIOError):
        while os.write(its, b"."):
            pass
    os.set_blocking(its, True)
    return ours, its


@pytest.mark.slow
@pytest.mark.parametrize(("number", "exit_code"), SIGNALS)
def test_while_the_bar_is_drawn(number: int, exit_code: int, tmp_path: Path) -> None:
    # A handler that interrupts a write cannot write to the same stream: "reentrant call".
    write_run_for_workers(tmp_path)
    ours, its = full_terminal()
    args = ["profile", "--rollouts", "run.jsonl", "--inputs", f"run{INPUTS}", "--jobs", str(WORKERS)]
    env = environment(TERM="xterm-256color")
    process = start(args, tmp_path, env=env, stdout=subprocess.DEVNULL, stderr=its)
    os.close(its)
    workers_that_pause(process)
    wait_until_idle(process)
    process.send_signal(number)
    wait_until_idle(process, ended=True)
    shown = b""
    with contextlib.suppress(OSError):
        while block := os.read(ours, 65536):
            shown += block
    os.close(ours)
    assert end_of(process).exit_code == exit_code, shown.decode()[-2000:]
    assert b"Traceback" not in shown
