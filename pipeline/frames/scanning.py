"""Sources → one frame by a reading function, over as many processes as pay off."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pipeline.frames.chunks import Gathered
from pipeline.sources.files import SEGMENT_BYTES, Source, segments
from pipeline.sources.reading import Chunk, Job
from pipeline.sources.workers import map_jobs, usable_cores

IN_PROCESS_BYTES = 8 << 20
Progress = Callable[[int], None]


def gather(
    read: Callable[[Job], Chunk],
    sources: Sequence[Source],
    *,
    template: Job,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Gathered:
    """Reads every source once.

    Args:
        read: Turns a job into a chunk; runs in worker processes.
        sources: What to read; a pipe is read in this process.
        template: The job without its segments.
        jobs: How many processes; None for the cores this process may use.
        progress: Called with the number of bytes read since the last call.

    Raises:
        SourceError: A source cannot be read.
        WorkerError: A worker process ended before its work was done.
    """
    size = sum(source.size or 0 for source in sources)
    piped = any(source.size is None for source in sources)
    workers = 1 if piped or size < IN_PROCESS_BYTES else jobs or usable_cores()
    share = max(1 << 20, min(SEGMENT_BYTES, -(-size // max(1, workers))))
    work = [template._replace(segments=batch) for batch in segments(sources, segment_bytes=share)]
    gathered = Gathered(sources)
    for job, chunk in zip(work, map_jobs(read, work, workers=workers), strict=True):
        gathered.add(chunk, [segment.source for segment in job.segments])
        if progress is not None:
            progress(chunk.bytes)
    return gathered
