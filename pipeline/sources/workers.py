"""Worker processes that jobs are mapped over: order kept, a dead worker is an error, never a hole."""

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

from pipeline.errors import WorkerError
from pipeline.leftovers import forget, remember

J = TypeVar("J")
R = TypeVar("R")

START = """
import pickle, sys
try:
    sys.path[:] = pickle.load(sys.stdin.buffer)
except EOFError:
    sys.exit()
from pipeline.sources.serving import serve
serve()
"""


def map_jobs(work: Callable[[J], R], jobs: Sequence[J], *, workers: int, ahead: int | None = None) -> Iterator[R]:
    """The results of `work` on each job, in the order of the jobs, over as many processes.

    Args:
        work: What to do.
        jobs: What to do it on.
        workers: How many processes.
        ahead: How many jobs may be done before their results are taken; None for all.

    Raises:
        WorkerError: A worker process ended before its work was done.
        RollprofError: As `work` raised it.
    """
    if workers <= 1 or len(jobs) <= 1:
        yield from map(work, jobs)
        return
    with Pool(min(workers, len(jobs))) as pool:
        yield from pool.submit(work, jobs, ahead=ahead)


class Pool:
    """Worker processes, each with a thread here that hands it jobs and takes its results.

    Workers are plain Python processes that import only what their work needs; they are spoken to over pipes, so this
    works from a script without a main guard and from a notebook. They end with the `with` block.

    Raises:
        WorkerError: The system does not let them start.
    """

    def __init__(self, workers: int) -> None:
        self._todo: queue.SimpleQueue[tuple[int, Any, Any] | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
        self._early: dict[int, Any] = {}
        self._given = 0
        self._processes: list[subprocess.Popen[bytes]] = []
        self._threads: list[threading.Thread] = []
        self._key = remember(self._kill)
        try:
            for _ in range(workers):
                self._processes.append(_spares[-1] if _spares else _start())
                del _spares[-1:]  # never of neither, whenever a signal comes
            for process in self._processes:
                thread = threading.Thread(target=self._attend, args=(process,), daemon=True)
                thread.start()
                self._threads.append(thread)
        except (OSError, RuntimeError) as error:  # a thread that the system refuses is a RuntimeError
            self.end()
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            hint = "Look at the limits of this shell (ulimit -a), or read in this process alone: --jobs 1."
            raise WorkerError(f"worker processes cannot be started: {reason}", hint=hint) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.end()

    def end(self) -> None:
        """Ends the workers, whatever they do."""
        self._kill()
        if sys.is_finalizing():  # the threads stand still, and may hold what closing a pipe would wait for
            return
        forget(self._key)
        for _ in self._threads:
            self._todo.put(None)
        for process in self._processes:
            process.wait()
        for thread in self._threads:
            thread.join()
        for process in self._processes:
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    pipe.close() if pipe else None

    def _kill(self) -> None:
        for process in self._processes:
            process.kill()

    def submit(self, work: Callable[[J], R], jobs: Sequence[J], *, ahead: int | None = None) -> Iterator[R]:
        """Starts the work on each job at once, or no more than `ahead` of those whose results are not yet taken.

        The results come in the order of the jobs.

        Raises:
            WorkerError: A worker process ended before its work was done.
            RollprofError: As `work` raised it.
        """
        numbered = [(number, work, job) for number, job in enumerate(jobs, self._given)]
        self._given += len(numbered)
        at_once = numbered[:ahead]
        for given in at_once:
            self._todo.put(given)
        return self._results(numbered, len(at_once))

    def _results(self, numbered: list[tuple[int, Any, Any]], ahead: int) -> Iterator[Any]:
        for place, (wanted, _, _) in enumerate(numbered):
            while wanted not in self._early:
                number, result = self._done.get()
                if isinstance(result, BaseException):
                    raise result
                self._early[number] = result
            if place + ahead < len(numbered):
                self._todo.put(numbered[place + ahead])
            yield self._early.pop(wanted)

    def _attend(self, process: subprocess.Popen[bytes]) -> None:
        """Feeds one worker as long as there is something to do; says what ended it if it ends before."""
        number = -1
        try:
            inbox, outbox = _pipes(process)
            _send(inbox, [str(Path(__file__).parents[2]), *sys.path])
            while (given := self._todo.get()) is not None:
                number = given[0]
                _send(inbox, given[1:])
                self._done.put((number, pickle.load(outbox)))
        except (OSError, EOFError, pickle.UnpicklingError):
            self._done.put((number, _lost(process)))
        except Exception as error:  # noqa: BLE001 - told to whoever waits for the result
            self._done.put((number, WorkerError(f"a job cannot be handed to a worker: {error}")))


_spares: list[subprocess.Popen[bytes]] = []
"""Workers that run before anybody has work for them."""


def start_spares(number: int) -> None:
    """Starts workers that the next pool takes; those that none has taken end with this process, or by `end_spares`."""
    remember(end_spares)
    for _ in range(number):
        _spares.append(_start())  # noqa: PERF401 - a signal may come between them


def end_spares() -> None:
    """Ends the workers that no pool has taken."""
    while _spares:
        process = _spares.pop()
        process.kill()
        process.communicate()


def _start() -> subprocess.Popen[bytes]:
    """A worker in a group of its own: Ctrl-C is for this process, which ends its workers.

    It needs no `site`, for it is sent the paths of this process.
    """
    return subprocess.Popen(
        [sys.executable, "-S", "-P", "-c", START], stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0
    )


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    if process.stdin is None or process.stdout is None:
        raise EOFError("no pipes")
    return process.stdin, process.stdout


def _send(pipe: IO[bytes], thing: object) -> None:
    pickle.dump(thing, pipe, protocol=pickle.HIGHEST_PROTOCOL)
    pipe.flush()


def _lost(process: subprocess.Popen[bytes]) -> WorkerError:
    try:
        code = process.wait(timeout=1)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return WorkerError(
            "a worker process said something else than results", hint="What does it print when it starts?"
        )
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
    return int(given) if given.isascii() and given.isdigit() and int(given) > 0 else None
