"""Failed attempts as a LazyFrame."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from pipeline.frames.chunks import empty_frame
from pipeline.frames.lazy import lazy_frame
from pipeline.frames.rollouts import opened_sources
from pipeline.frames.scanning import frame_of
from pipeline.sources.failures import read_failures
from pipeline.sources.files import Source
from pipeline.sources.reading import Job
from pipeline.sources.readings import Request
from pipeline.sources.workers import usable_cores

TEXTS = ("_failure_class", "_message", "_status")


def scan_failures(sources: Iterable[Source | str | Path] | str | Path, *, jobs: int | None = None) -> pl.LazyFrame:
    """Failed attempts, one row a line in the order of the attempts, read once when first needed.

    Columns: `_ng_task_index`, `_ng_rollout_index` (Int64), `_source` (String), `_file` (UInt32), `_line`,
    `_offset`, `_length` (Int64), `_failure_class` (String), `_message` (String, its first 500 characters),
    `_status` (Int64, of HTTP), `_terminal` (Boolean, whether it is not to be tried again), `_problem` (String), `_torn`
    (Boolean). What an attempt does not say is null.

    Args:
        sources: Sidecar files; none gives no rows.
        jobs: How many processes read; None for the cores this process may use.

    Raises:
        SourceError: A file is missing; at collection, one cannot be read or a worker was lost.
    """
    opened = opened_sources(sources)
    return lazy_frame(lambda: _read(opened, jobs))


def _read(sources: tuple[Source, ...], jobs: int | None) -> pl.DataFrame:
    blank = empty_frame(TEXTS).with_columns(_terminal=pl.lit(None, pl.Int64))
    request = Request(read_failures, sources, Job(()))
    read_rows = frame_of(request, workers=jobs or usable_cores())
    return pl.concat([blank, read_rows], how="diagonal_relaxed").with_columns(
        pl.col("_status").cast(pl.Int64, strict=False), pl.col("_terminal").cast(pl.Boolean)
    )
