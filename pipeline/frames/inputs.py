"""Planned rollouts as a LazyFrame."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import polars as pl

from pipeline import names
from pipeline.frames.chunks import empty_frame
from pipeline.frames.context import with_context
from pipeline.frames.exported import LABEL
from pipeline.frames.lazy import lazy_frame
from pipeline.frames.rollouts import opened_sources
from pipeline.frames.scanning import Progress, frame_of
from pipeline.options import ReadOptions
from pipeline.sources.files import Source
from pipeline.sources.inputs import ROOT, request_inputs
from pipeline.sources.readings import Reading
from pipeline.sources.workers import usable_cores

TEXTS = ("_agent", "_server")


def scan_inputs(
    sources: Iterable[Source | str | Path] | str | Path,
    options: ReadOptions | None = None,
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
    begun: Reading | None = None,
) -> pl.LazyFrame:
    """Planned rollouts, one row a line, read once when first needed.

    Columns: `_ng_task_index`, `_ng_rollout_index` (Int64), `_source` (String), `_file` (UInt32), `_line`,
    `_offset`, `_length` (Int64), `_agent`, `_server` (String), `_problem` (String), `_torn` (Boolean). The text
    of a row is not kept; it is fetched by its position when it is written. A row that is byte for byte in
    several files is kept once, from the first of them; one that is twice in a file is kept twice. With
    `options.context` also `_input.NAME` (Categorical) for each short top-level text, and the fields asked for.

    Args:
        sources: Files, as paths or as `find_run` gives them.
        options: Whether to keep their context, and whether the cache may be used.
        jobs: How many processes read; None for what the options say, else the cores this process may use.
        progress: Called with the number of bytes read since the last call.
        begun: A reading of these sources that has begun already.

    Raises:
        SourceError: A file is missing; at collection, one cannot be read or a worker was lost.
    """
    opened = opened_sources(sources)
    chosen = options or ReadOptions()

    def read() -> pl.DataFrame:
        nonlocal begun
        once, begun = begun, None  # after an error it is read anew
        request, workers = request_inputs(opened, chosen), jobs or chosen.jobs or usable_cores()
        read_rows = frame_of(request, workers=workers, progress=progress, begun=once, cached=chosen.cache)
        return planned_rollouts(read_rows, chosen, sources=len(opened))

    return lazy_frame(read)


def inputs_of_rollouts(rollouts: pl.LazyFrame, *, keep: Literal["first", "last"] = "first") -> pl.LazyFrame:
    """The planned rollouts of a run that has no inputs file: exactly those that finished.

    Args:
        rollouts: As `scan_rollouts` gives them.
        keep: Which of several rollouts with one key the sample is taken from.
    """
    columns = (names.TASK, names.ROLLOUT, "_source", "_file", "_line", "_offset", "_length", *TEXTS)
    return (
        rollouts.pipe_with_schema(_by_label)
        .filter(pl.col("_problem").is_null())
        .select(*columns, _problem=pl.lit(None, pl.String), _torn=pl.lit(None, pl.Boolean))
        .unique(subset=names.KEY, keep=keep, maintain_order=True)
    )


def _by_label(rollouts: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
    """Rollouts of an export belong to the agent that it shows; what is read from a dump has no such column."""
    if LABEL not in schema:
        return rollouts
    server = pl.when(pl.col(LABEL).is_null()).then("_server")
    return rollouts.with_columns(_agent=pl.coalesce(LABEL, "_agent"), _server=server)


def planned_rollouts(read_rows: pl.DataFrame, options: ReadOptions, *, sources: int) -> pl.DataFrame:
    """Rows as they were read, with their context, as `scan_inputs` gives them.

    Args:
        read_rows: Rows, all of each task that is among them.
        options: Whether a context was asked for.
        sources: How many files they are from.
    """
    frame = pl.concat([empty_frame(TEXTS), read_rows], how="diagonal_relaxed")
    return with_context(_without_copies(frame, sources), options, ROOT)


def _without_copies(frame: pl.DataFrame, sources: int) -> pl.DataFrame:
    if sources <= 1:
        return frame.drop("_line_digest", strict=False)
    same = (*names.KEY, "_line_digest")
    copies = pl.len().over(*same, "_file")
    kept = pl.col("_file").sort_by(-copies.cast(pl.Int64), "_file").first().over(*same)
    return frame.filter(pl.col("_problem").is_not_null() | (pl.col("_file") == kept)).drop("_line_digest")
