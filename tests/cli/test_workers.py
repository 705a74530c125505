"""Workers whose command is gone say nothing."""

import os
import signal
from pathlib import Path

import pytest

from tests.cli.moments import WORKERS, start_run, stop, while_workers_read, write_long_run
from tests.cli.processes import end_of, has_ended, wait_for, workers_of


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_while_they_read(number: int, tmp_path: Path) -> None:
    write_long_run(tmp_path)
    held = while_workers_read(tmp_path)
    held.process.send_signal(number)
    for worker in held.workers:
        if not has_ended(worker):
            os.kill(worker, signal.SIGCONT)
    assert "Traceback" not in end_of(held.process).stderr


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_before_they_were_given_anything(number: int, tmp_path: Path) -> None:
    write_long_run(tmp_path)
    process = start_run(tmp_path)
    wait_for(lambda: bool(workers_of(process)))
    stop(process.pid)
    workers = workers_of(process)
    process.send_signal(number)
    process.send_signal(signal.SIGCONT)
    assert "Traceback" not in end_of(process).stderr
    assert len(workers) <= WORKERS
