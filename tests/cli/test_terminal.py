"""What is different on a terminal: a progress bar, after a second and only there; a signal leaves it as it was."""

import contextlib
import os
import pty
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.processes import end_of, environment, start, wait_until_idle
from tests.cli.run_files import INPUTS, KEYS, OUTPUTS, write_run
from tests.cli.terminal import BAR, WORKERS, on_terminal, workers_that_pause, write_run_for_workers
from tests.runs import planned

COLOR = "\x1b[3"
HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
LONG_NAME = "an agent with a name that no terminal is wide enough for, " * 8


def test_there_is_no_bar_within_a_second(tmp_path: Path) -> None:
    write_run(tmp_path)
    shown = on_terminal(["profile", "run.jsonl"], tmp_path).stdout
    assert shown.startswith(f"inputs: run{INPUTS}\nRollouts  4 of 4 finished")
    assert "\x1b" not in shown


@pytest.mark.slow
@pytest.mark.parametrize(("env", "colored"), [({}, True), ({"NO_COLOR": "1"}, False)], ids=["color", "NO_COLOR"])
def test_there_is_a_bar_after_a_second(env: dict[str, str], colored: bool, tmp_path: Path) -> None:
    write_run_for_workers(tmp_path)
    args = ["profile", "run.jsonl", "--jobs", str(WORKERS)]
    done = on_terminal(args, tmp_path, env=env, hinder=workers_that_pause)
    shown = done.stdout
    assert done.exit_code == 0, shown
    before, bar, after = shown.partition(BAR)
    assert before.startswith(f"inputs: run{INPUTS}\n")
    assert bar
    assert "MB" in after
    assert (COLOR in shown) == colored
    assert f"\n  run{OUTPUTS[0]}\n" in after


@pytest.mark.slow
def test_there_is_no_bar_in_a_pipe(tmp_path: Path) -> None:
    write_run_for_workers(tmp_path)
    process = start(["profile", "run.jsonl", "--jobs", str(WORKERS)], tmp_path, env=environment(TERM="xterm"))
    workers_that_pause(process)
    done = end_of(process)
    assert (done.exit_code, done.stderr) == (0, f"inputs: run{INPUTS}\n")


def test_nothing_is_cut_on_a_narrow_terminal(tmp_path: Path) -> None:
    write_run(tmp_path, plan=[planned(*key, agent=LONG_NAME) for key in KEYS])
    done = on_terminal(["profile", "run.jsonl"], tmp_path, columns=20)
    assert f"\n{LONG_NAME}: 4 rollouts of 2 tasks\n" in done.stdout


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
