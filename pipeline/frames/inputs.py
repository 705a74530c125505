"""Planned rollouts as a LazyFrame."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from pipeline import names
from pipeline.frames.chunks import empty_frame
from pipeline.frames.lazy import lazy_frame
from pipeline.frames.rollouts import opened_sources
from pipeline.frames.scanning import Progress, gather
from pipeline.sources.files import Source
from pipeline.sources.inputs import read_inputs
from pipeline.sources.reading import Job

TEXTS = ("_agent", "_server")


def scan_inputs(
    sources: Iterable[Source | str | Path] | str | Path,
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> pl.LazyFrame:
    """Planned rollouts, one row a line, read once when first needed.

    Columns: `_ng_task_index`, `_ng_rollout_index` (Int64), `_source` (String), `_file` (UInt32), `_line`,
    `_offset`, `_length` (Int64), `_agent`, `_server` (String), `_problem` (String), `_torn` (Boolean). The text
    of a row is not kept; it is fetched by its position when it is written. A row that is byte for byte in
    several files is kept once, from the first of them.

    Args:
        sources: Files, as paths or as `find_run` gives them.
        jobs: How many processes read; None for the cores this process may use.
        progress: Called with the number of bytes read since the last call.

    Raises:
        SourceError: A file is missing; at collection, one cannot be read or a worker was lost.
    """
    opened = opened_sources(sources)
    return lazy_frame(lambda: _read(opened, jobs, progress))


def inputs_of_rollouts(rollouts: pl.LazyFrame) -> pl.LazyFrame:
    """The planned rollouts of a run that has no inputs file: exactly those that finished.

    Args:
        rollouts: As `scan_rollouts` gives them.
    """
    columns = (names.TASK, names.ROLLOUT, "_source", "_file", "_line", "_offset", "_length", *TEXTS)
    return (
        rollouts.filter(pl.col("_problem").is_null())
        .select(*columns, _problem=pl.lit(None, pl.String), _torn=pl.lit(None, pl.Boolean))
        .unique(subset=names.KEY, keep="first", maintain_order=True)
    )


def _read(sources: tuple[Source, ...], jobs: int | None, progress: Progress | None) -> pl.DataFrame:
    template = Job((), digests=len(sources) > 1)
    gathered = gather(read_inputs, sources, template=template, jobs=jobs, progress=progress)
    blank = empty_frame(TEXTS)
    frame = pl.concat([blank, gathered.frame()], how="diagonal_relaxed")
    if len(sources) < 2:  # noqa: PLR2004
        return frame.drop("_digest", strict=False)
    first_file = pl.col("_file").min().over(*names.KEY, "_digest")
    return frame.filter(pl.col("_problem").is_not_null() | (pl.col("_file") == first_file)).drop("_digest")
