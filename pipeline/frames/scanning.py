"""A request → the frame of its rows, from the cache where they are kept."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable

import polars as pl

from pipeline.frames.chunks import Gathered
from pipeline.frames.spill import Spill
from pipeline.sources import cache
from pipeline.sources.readings import Reading, Request, begin

Progress = Callable[[int], None]


def frame_of(
    request: Request,
    *,
    workers: int,
    progress: Progress | None = None,
    begun: Reading | None = None,
    cached: bool = False,
) -> pl.DataFrame:
    """Every row of a request, as `Gathered.frame` gives them.

    Args:
        request: What to read, and how.
        workers: How many processes may read.
        progress: Called with the number of bytes read since the last call.
        begun: A reading of the request that has begun already.
        cached: Whether the rows may come from the cache folder, and are kept there.

    Raises:
        SourceError: A source cannot be read.
        WorkerError: A worker process ended before its work was done.
    """
    key = cache.key_of(request) if cached else None
    if begun is None and key is not None and (kept := kept_frame(key)) is not None:
        if progress is not None:
            progress(request.size)
        return kept
    frame = gather(begun or begin(request, workers=workers), progress).frame()
    if key is not None:
        keep_frame(key, frame)
    return frame


def gather(
    reading: Reading, progress: Progress | None = None, *, full: Callable[[Gathered], None] | None = None
) -> Gathered:
    """Takes every chunk of a reading.

    Args:
        reading: What has begun to be read.
        progress: Called with the number of bytes read since the last call.
        full: Called after each chunk; it may take rows.
    """
    gathered = Gathered(reading.sources)
    with contextlib.closing(reading.chunks):  # an error ends its workers at once, however long somebody keeps it
        for job, chunk in zip(reading.jobs, reading.chunks, strict=True):
            gathered.add(chunk, [segment.source for segment in job.segments])
            if full is not None:
                full(gathered)
            if progress is not None:
                progress(chunk.bytes)
    return gathered


def kept_rows(key: str, spill: Spill) -> pl.LazyFrame | None:
    """The rows that are kept under a key, as a file of their own; None where there are none that can be read."""
    with spill.file() as path:
        with path.open("wb") as file:
            whole = cache.copy_kept(key, file)
        if not whole:
            path.unlink()
            return None
    rows = pl.scan_parquet(path, glob=False)
    try:
        rows.collect_schema()
    except (pl.exceptions.PolarsError, OSError):  # kept by another version of Polars
        cache.drop(key)
        return None
    return rows


def keep_frame(key: str, frame: pl.DataFrame) -> None:
    """Keeps a frame in the cache folder."""
    content = io.BytesIO()
    frame.write_parquet(content, compression="lz4", statistics=False)
    cache.keep(key, content.getbuffer())


def kept_frame(key: str) -> pl.DataFrame | None:
    """The frame that is kept under a key; None where nothing whole is."""
    content = cache.kept(key)
    if content is None:
        return None
    try:
        return pl.read_parquet(content)
    except (pl.exceptions.PolarsError, OSError):  # kept by another version of Polars
        cache.drop(key)
        return None
