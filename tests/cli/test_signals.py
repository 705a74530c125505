"""Whatever ends the command: its exit code, no traceback, nothing half-written, no child and no temporary file left."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.moments import (
    WORKERS,
    Held,
    assert_nothing_is_left,
    files_of_the_user,
    proceed,
    while_it_waits_for_a_pipe,
    while_it_writes,
    while_workers_read,
    write_long_run,
)
from tests.cli.processes import end_of, has_ended, wait_for
from tests.cli.run_files import OLD, assert_refused, contents_of, object_of, outputs_of

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_long_run(tmp_path)
    return tmp_path


MOMENTS = [while_it_waits_for_a_pipe, while_workers_read, while_it_writes]
GROUP, ALONE = os.killpg, os.kill
WAYS = {
    "Ctrl-C": (GROUP, signal.SIGINT, 130),
    "SIGTERM": (ALONE, signal.SIGTERM, 143),
    "SIGTERM to all": (GROUP, signal.SIGTERM, 143),
}


@pytest.mark.parametrize("moment", MOMENTS, ids=lambda moment: moment.__name__)
@pytest.mark.parametrize("way", WAYS)
def test_ends_cleanly(way: str, moment: Callable[[Path], Held], folder: Path) -> None:
    send, number, exit_code = WAYS[way]
    held = moment(folder)
    before = files_of_the_user(folder)
    send(held.process.pid, number)
    proceed(held)
    done = end_of(held.process, timeout=30)
    assert done.exit_code == exit_code, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    assert done.stdout == ""
    assert_nothing_is_left(folder, before, held)
    if held.pipe is not None:
        os.close(held.pipe)


def test_a_signal_that_is_ignored_stays_so(folder: Path) -> None:
    # As `nohup` starts it.
    held = while_it_writes(folder, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    held.process.send_signal(signal.SIGHUP)
    proceed(held)
    done = end_of(held.process)
    assert done.exit_code == 0, done.stderr
    assert OLD not in outputs_of(folder / "in")


@pytest.mark.parametrize("victim", range(WORKERS))
def test_a_lost_worker_is_a_refusal(victim: int, folder: Path) -> None:
    before = contents_of(folder)
    held = while_workers_read(folder)
    os.kill(held.workers[victim], signal.SIGKILL)
    proceed(held)
    done = end_of(held.process, timeout=30)
    assert_refused(done, 3, "a worker process was killed by signal 9", "--jobs")
    assert_nothing_is_left(folder, before, held)


def test_a_lost_worker_is_told_to_programs(folder: Path) -> None:
    held = while_workers_read(folder, "--json")
    os.kill(held.workers[0], signal.SIGKILL)
    proceed(held)
    done = end_of(held.process, timeout=30)
    told = object_of(done)
    assert (told["kind"], told["exit_code"], done.exit_code) == ("lost_worker", 3, 3)


def test_workers_of_a_command_that_was_killed_end_by_themselves(folder: Path) -> None:
    held = while_workers_read(folder)
    held.process.kill()
    for worker in held.workers:
        os.kill(worker, signal.SIGCONT)
    end_of(held.process)
    wait_for(lambda: all(map(has_ended, held.workers)), timeout=10)
