"""`--jobs`: the same profile over any number of processes, and no more of them than there is work for."""

from pathlib import Path

import pytest

from tests.cli.moments import write_long_run
from tests.cli.processes import run, start, wait_for, workers_of
from tests.cli.run_files import outputs_of, rollouts, write_run
from tests.runs import planned

MANY = 64
MEGABYTES = 40


@pytest.mark.slow
def test_jobs_give_the_same_bytes(tmp_path: Path) -> None:
    keys = [(task, index) for task in range(20) for index in range(10)]
    write_run(tmp_path, plan=[planned(*key) for key in keys], done=rollouts(keys, text="x" * 50_000))
    assert run(["profile", "run.jsonl", "--jobs", "1"], tmp_path).exit_code == 0
    once = outputs_of(tmp_path)
    assert run(["profile", "run.jsonl", "--jobs", "2"], tmp_path).exit_code == 0
    assert outputs_of(tmp_path) == once


@pytest.mark.slow
def test_more_jobs_than_work(tmp_path: Path) -> None:
    write_long_run(tmp_path)
    process = start(["profile", "run.jsonl", "--jobs", str(MANY), "--quiet"], tmp_path / "in")
    most = 0

    def has_ended() -> bool:
        nonlocal most
        most = max(most, len(workers_of(process)))
        return process.poll() is not None

    wait_for(has_ended)
    process.communicate()
    assert process.returncode == 0
    assert 0 < most <= MEGABYTES
