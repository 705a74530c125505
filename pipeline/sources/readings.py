"""A reading that has begun: sources cut into jobs, and their chunks as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pipeline.sources.files import SEGMENT_BYTES, Source, segments
from pipeline.sources.reading import Chunk, Job
from pipeline.sources.workers import Pool, map_jobs

IN_PROCESS_BYTES = 8 << 20
SMALLEST_SHARE = 1 << 20


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
    chunks: Iterator[Chunk]


def pays_off(sources: Sequence[Source], workers: int) -> bool:
    """Whether worker processes are worth their start."""
    return workers > 1 and sum(source.size for source in sources) >= IN_PROCESS_BYTES


def useful_workers(sources: Sequence[Source], workers: int) -> int:
    """How many of these workers there is work for."""
    return max(1, min(workers, sum(source.size for source in sources) // SMALLEST_SHARE))


def begin(
    read: Callable[[Job], Chunk], sources: Sequence[Source], *, template: Job, workers: int, pool: Pool | None = None
) -> Reading:
    """Begins to read every source once.

    Args:
        read: Turns a job into a chunk; runs in the workers.
        sources: What to read.
        template: The job without its segments.
        workers: How many processes may read.
        pool: Workers that are running already; else some are started with the first chunk asked for, if that pays off.
    """
    size = sum(source.size for source in sources)
    share = min(SEGMENT_BYTES, max(SMALLEST_SHARE, -(-size // max(1, workers))))
    jobs = [template._replace(segments=batch) for batch in segments(sources, segment_bytes=share)]
    if pool is not None:
        chunks = pool.submit(read, jobs)
    else:
        chunks = map_jobs(read, jobs, workers=workers if pays_off(sources, workers) else 1)
    return Reading(tuple(sources), jobs, chunks)
