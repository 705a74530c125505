"""A reading that has begun: sources cut into jobs, and their chunks as they come."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pipeline.sources.files import SEGMENT_BYTES, Source, check_unchanged, segments
from pipeline.sources.reading import Chunk, Job
from pipeline.sources.workers import Pool, map_jobs

IN_PROCESS_BYTES = 8 << 20
SMALLEST_SHARE = 1 << 20
AHEAD = 2
"""So many chunks a worker are read ahead of whoever takes them, where memory is to be bounded."""


@dataclass(frozen=True)
class Request:
    """Sources, and how each of them is to be read once.

    Attributes:
        read: Turns a job into a chunk; runs in the workers.
        sources: What to read.
        template: The job without its segments.
    """

    read: Callable[[Job], Chunk]
    sources: tuple[Source, ...]
    template: Job

    @property
    def size(self) -> int:
        """How many bytes there are to read."""
        return sum(source.size for source in self.sources)


@dataclass(frozen=True)
class Reading:
    """Sources that are being read.

    Attributes:
        sources: What is read.
        jobs: The jobs, in the order of the sources.
        chunks: The chunk of each job, in the same order; each comes once.
    """

    sources: tuple[Source, ...]
    jobs: list[Job]
    chunks: Generator[Chunk, None, None]


class Begun(NamedTuple):
    """Readings of a run's files that have begun already, and whom to tell of the bytes read since the last time."""

    rollouts: Reading | None = None
    inputs: Reading | None = None
    progress: Callable[[int], None] | None = None


def pays_off(sources: Sequence[Source], workers: int) -> bool:
    """Whether worker processes are worth their start."""
    return workers > 1 and sum(source.size for source in sources) >= IN_PROCESS_BYTES


def useful_workers(sources: Sequence[Source], workers: int) -> int:
    """How many of these workers there is work for."""
    return max(1, min(workers, sum(source.size for source in sources) // SMALLEST_SHARE))


def begin(request: Request, *, workers: int, pool: Pool | None = None, ahead: int | None = None) -> Reading:
    """Begins to read every source once.

    Args:
        request: What to read, and how.
        workers: How many processes may read.
        pool: Workers that are running already; else some are started with the first chunk asked for, if that pays off.
        ahead: How many chunks a worker may be read before they are taken; None for all.

    Raises:
        SourceError: With the last chunk: a source was written over meanwhile.
    """
    share = min(SEGMENT_BYTES, max(SMALLEST_SHARE, -(-request.size // max(1, workers))))
    batches = segments(request.sources, segment_bytes=share)
    jobs = [request.template._replace(segments=batch) for batch in batches]
    window = None if ahead is None else ahead * workers
    if pool is not None:
        chunks = pool.submit(request.read, jobs, ahead=window)
    else:
        useful = workers if pays_off(request.sources, workers) else 1
        chunks = map_jobs(request.read, jobs, workers=useful, ahead=window)
    return Reading(request.sources, jobs, _while_unchanged(request.sources, chunks))


def _while_unchanged(sources: Sequence[Source], chunks: Iterator[Chunk]) -> Generator[Chunk, None, None]:
    """The chunks, if none of their sources was written over before the last of them came."""
    yield from chunks
    for source in sources:
        check_unchanged(source)
