"""A reading → the frame of its chunks."""

from __future__ import annotations

from collections.abc import Callable

from pipeline.frames.chunks import Gathered
from pipeline.sources.readings import Reading

Progress = Callable[[int], None]


def gather(reading: Reading, progress: Progress | None = None) -> Gathered:
    """Takes every chunk of a reading.

    Args:
        reading: What has begun to be read.
        progress: Called with the number of bytes read since the last call.

    Raises:
        SourceError: A source cannot be read.
        WorkerError: A worker process ended before its work was done.
    """
    gathered = Gathered(reading.sources)
    for job, chunk in zip(reading.jobs, reading.chunks, strict=True):
        gathered.add(chunk, [segment.source for segment in job.segments])
        if progress is not None:
            progress(chunk.bytes)
    return gathered
