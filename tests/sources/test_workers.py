"""Jobs are done by processes in any order and given back in theirs; a worker that is lost is an error."""

import gc
import os
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import RollprofError, SourceError, WorkerError
from pipeline.sources.workers import Pool, map_jobs, usable_cores
from tests.sources import work

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_results_come_in_the_order_of_the_jobs(count: int) -> None:
    assert list(map_jobs(work.squared, range(8), workers=count)) == [job * job for job in range(8)]


@pytest.mark.parametrize("jobs", [[], [3]])
def test_few_jobs_are_done_here(jobs: list[int]) -> None:
    assert list(map_jobs(work.process_id, jobs, workers=4)) == [os.getpid()] * len(jobs)


def test_several_jobs_are_done_by_other_processes() -> None:
    found = set(map_jobs(work.process_id, range(6), workers=2))
    assert len(found) == 2
    assert os.getpid() not in found


def test_no_more_is_done_ahead_than_allowed(tmp_path: Path) -> None:
    jobs = [str(tmp_path / str(number)) for number in range(9)]
    results = map_jobs(work.made, jobs, workers=2, ahead=2)
    for taken in range(1, 4):
        assert next(results) == jobs[taken - 1]
        time.sleep(0.2)
        assert len(list(tmp_path.iterdir())) <= taken + 2
    assert list(results) == jobs[3:]


def test_results_of_two_mappings_are_taken_in_any_order() -> None:
    with Pool(2) as pool:
        first, second = (pool.submit(work.squared, jobs, ahead=1) for jobs in (range(4), range(4, 8)))
        assert list(second) == [16, 25, 36, 49]
        assert list(first) == [0, 1, 4, 9]


def test_large_results_come_whole() -> None:
    assert list(map_jobs(work.large, range(4), workers=2)) == [work.large(job) for job in range(4)]


@pytest.mark.parametrize("count", [1, 2])
def test_a_refusal_comes_as_it_was(count: int) -> None:
    with pytest.raises(SourceError) as refusal:
        list(map_jobs(work.obey, ["a", work.REFUSED, "b"], workers=count))
    error = refusal.value
    assert (error.message, error.where, error.hint) == ("cannot be read", "file:7", "Mend it.")


def test_an_exception_in_a_worker_says_which() -> None:
    with pytest.raises(WorkerError, match="ZeroDivisionError: by nought"):
        list(map_jobs(work.obey, ["a", work.BROKEN], workers=2))


@pytest.mark.parametrize(
    ("job", "how"),
    [
        (work.KILLED, "was killed by signal 9"),
        (work.LEFT, "ended with code 7"),
        (work.NO_PICKLE, "ended with code 1"),
    ],
)
@pytest.mark.parametrize("at", [0, 3])
def test_a_lost_worker_is_an_error(job: str, how: str, at: int, capfd: pytest.CaptureFixture[str]) -> None:
    jobs = ["a", "b", "c"]
    jobs.insert(at, job)
    with pytest.raises(WorkerError, match=how) as refusal:
        list(map_jobs(work.obey, jobs, workers=2))
    assert "--jobs" in refusal.value.hint
    assert (capfd.readouterr().err != "") == (job == work.NO_PICKLE)


def test_workers_end_with_the_one_who_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []
    start = subprocess.Popen

    def remember(*args: object, **options: object) -> "subprocess.Popen[bytes]":
        started.append(start(*args, **options))  # type: ignore[call-overload]
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", remember)
    found = map_jobs(work.squared, range(8), workers=2)
    next(found)
    found.close()  # type: ignore[attr-defined]
    assert len(started) == 2
    assert all(process.poll() is not None for process in started)


@pytest.fixture
def unhandled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What ended threads that nothing handled."""
    found: list[str] = []
    monkeypatch.setattr(
        threading, "excepthook", lambda args: found.append(f"{args.exc_type.__name__}: {args.exc_value}")
    )
    return found


def test_a_mapping_that_is_given_up(unhandled: list[str]) -> None:
    for _ in range(6):
        results = map_jobs(work.squared, range(8), workers=4)
        next(results)
        results.close()  # type: ignore[attr-defined]
    assert unhandled == []


@pytest.mark.parametrize("job", [work.REFUSED, work.KILLED])
def test_a_mapping_that_is_refused(job: str, unhandled: list[str]) -> None:
    for _ in range(6):
        with pytest.raises(RollprofError):
            list(map_jobs(work.obey, ["a", job, "b", "c"], workers=4))
    assert unhandled == []


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_threads_and_pipes_end_with_the_mapping() -> None:
    before = threading.active_count(), open_files()
    for _ in range(3):
        assert list(map_jobs(work.obey, ["a", "b", "c"], workers=2)) == ["a", "b", "c"]
    deadline = time.monotonic() + 1
    while threading.active_count() > before[0] and time.monotonic() < deadline:
        time.sleep(0.01)
    gc.collect()
    assert (threading.active_count(), open_files()) == before


def test_a_job_that_cannot_be_sent_is_an_error(unhandled: list[str]) -> None:
    jobs: list[Any] = ["a", lambda: None]
    ended: list[BaseException] = []

    def run() -> None:
        try:
            list(map_jobs(work.obey, jobs, workers=2))
        except BaseException as error:  # noqa: BLE001 - whatever it is
            ended.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(2)
    assert ended
    assert unhandled == []


def test_it_works_from_a_script_without_a_main_guard(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        from pipeline.sources.workers import map_jobs
        from tests.sources.work import squared
        print(list(map_jobs(squared, range(6), workers=2)))
        """)
    )
    command = [sys.executable, "-W", "error", str(script)]
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, check=True
    )
    assert done.stdout.decode().strip() == "[0, 1, 4, 9, 16, 25]"


@pytest.mark.parametrize(
    ("affinity", "quota", "slurm", "cores"),
    [
        (8, None, None, 8),
        (8, "max 100000", None, 8),
        (8, "300000 100000", None, 3),
        (8, "350000 100000", None, 3),
        (8, "50000 100000", None, 1),
        (2, "800000 100000", "16", 2),
        (8, None, "3", 3),
        (8, "200000 100000", "3", 2),
        (8, None, "", 8),
        (8, None, "0", 8),
        (8, None, "4(x2)", 8),
        (8, "nonsense", "-1", 8),
        (1, None, "64", 1),
    ],
)
def test_usable_cores(
    affinity: int, quota: str | None, slurm: str | None, cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_text(path: Path) -> str:
        if quota is None or path != Path("/sys/fs/cgroup/cpu.max"):
            raise FileNotFoundError(path)
        return quota

    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: set(range(affinity)), raising=False)
    monkeypatch.setattr(Path, "read_text", read_text)
    monkeypatch.delenv("SLURM_CPUS_PER_TASK", raising=False)
    if slurm is not None:
        monkeypatch.setenv("SLURM_CPUS_PER_TASK", slurm)
    assert usable_cores() == cores
