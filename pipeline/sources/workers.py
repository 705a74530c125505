"""Maps jobs over this process or worker processes: order kept, progress told, a dead worker is an error."""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Self, TypeVar

from pipeline.errors import RollprofError, WorkerError

J = TypeVar("J")
R = TypeVar("R")

START = "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); from pipeline.sources.workers import serve; serve()"


def map_jobs(work: Callable[[J], R], jobs: Sequence[J], *, workers: int) -> Iterator[R]:
    """The results of `work` on each job, in the order of the jobs.

    Workers are plain Python processes that import only what `work` needs; they are spoken to over pipes, so this
    works from a script without a main guard and from a notebook.

    Raises:
        WorkerError: A worker process ended before its work was done.
        RollprofError: As `work` raised it.
    """
    if workers <= 1 or len(jobs) <= 1:
        yield from map(work, jobs)
        return
    with _Pool(work, min(workers, len(jobs))) as pool:
        yield from pool.map(jobs)


def serve() -> None:
    """What a worker process does: jobs from standard input, results to standard output, until the input ends."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    inbox, outbox = sys.stdin.buffer, sys.stdout.buffer
    work = pickle.load(inbox)
    while True:
        try:
            job = pickle.load(inbox)
        except EOFError:
            return
        try:
            result: Any = work(job)
        except RollprofError as error:
            result = error
        except Exception as error:  # noqa: BLE001 - told to the parent, which raises it
            result = WorkerError(f"a worker failed: {type(error).__name__}: {error}")
        pickle.dump(result, outbox, protocol=pickle.HIGHEST_PROTOCOL)
        outbox.flush()


class _Pool:
    """Worker processes, each with a thread here that hands it jobs and takes its results."""

    def __init__(self, work: Callable[[Any], Any], workers: int) -> None:
        self.work = work
        self.processes = [self._start() for _ in range(workers)]
        self.todo: queue.SimpleQueue[tuple[int, Any] | None] = queue.SimpleQueue()
        self.done: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe:
                    with contextlib.suppress(OSError):
                        pipe.close()

    def map(self, jobs: Sequence[Any]) -> Iterator[Any]:
        """Results in the order of the jobs; a result that came early waits."""
        for numbered in enumerate(jobs):
            self.todo.put(numbered)
        for process in self.processes:
            self.todo.put(None)
            threading.Thread(target=self._attend, args=(process,), daemon=True).start()
        early: dict[int, Any] = {}
        for wanted in range(len(jobs)):
            while wanted not in early:
                number, result = self.done.get()
                if isinstance(result, BaseException):
                    raise result
                early[number] = result
            yield early.pop(wanted)

    @staticmethod
    def _start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-P", "-c", START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def _attend(self, process: subprocess.Popen[bytes]) -> None:
        """Feeds one worker until there is nothing left to do; says what ended it if it ends before."""
        inbox, outbox = process.stdin, process.stdout
        assert inbox is not None
        assert outbox is not None
        numbered = None
        try:
            _send(inbox, [str(Path(__file__).parents[2]), *sys.path])
            _send(inbox, self.work)
            while (numbered := self.todo.get()) is not None:
                _send(inbox, numbered[1])
                self.done.put((numbered[0], pickle.load(outbox)))
        except (OSError, EOFError, pickle.UnpicklingError):
            self.done.put((numbered[0] if numbered else -1, _lost(process)))


def _send(pipe: IO[bytes], thing: object) -> None:
    pickle.dump(thing, pipe, protocol=pickle.HIGHEST_PROTOCOL)
    pipe.flush()


def _lost(process: subprocess.Popen[bytes]) -> WorkerError:
    code = process.wait()
    how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
    return WorkerError(
        f"a worker process {how} before its work was done",
        hint="Out of memory is the usual reason: try fewer --jobs. Nothing was written.",
    )


def usable_cores() -> int:
    """The cores this process may use: affinity, control group quota, and what Slurm gave the task."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:
        cores = os.cpu_count() or 1
    for limit in (_quota(), _slurm()):
        if limit is not None:
            cores = min(cores, limit)
    return max(1, cores)


def _quota() -> int | None:
    """The CPU quota of this process's control group (v2, else v1), in whole cores."""
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return None if quota == "max" else max(1, int(quota) // int(period))
    except (OSError, ValueError):
        pass
    try:
        quota = Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us").read_text()
        period = Path("/sys/fs/cgroup/cpu/cpu.cfs_period_us").read_text()
        return max(1, int(quota) // int(period)) if int(quota) > 0 else None
    except (OSError, ValueError):
        return None


def _slurm() -> int | None:
    given = os.environ.get("SLURM_CPUS_PER_TASK", "")
    return int(given) if given.isdigit() and int(given) > 0 else None
