"""Finished rollouts as a LazyFrame."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import polars as pl

from pipeline.frames.chunks import empty_frame
from pipeline.frames.context import with_context
from pipeline.frames.exported import exported_rows
from pipeline.frames.lazy import lazy_frame
from pipeline.frames.metrics import RAW, metric_of, without_infinities
from pipeline.frames.naming import with_final_names
from pipeline.frames.numbering import MIXED, PROMPTS, numbered, unnumbered
from pipeline.frames.profiled import profiled_rows
from pipeline.frames.scanning import Progress, frame_of
from pipeline.options import ReadOptions
from pipeline.sources.files import Source, kinds_of, open_source
from pipeline.sources.plans import NO_RESPONSE, TRUNCATED
from pipeline.sources.reading import Metric
from pipeline.sources.readings import Reading
from pipeline.sources.rollouts import ROOT, request_rollouts
from pipeline.sources.workers import usable_cores

TEXTS = ("_agent", "_server")


def scan_rollouts(
    sources: Iterable[Source | str | Path] | str | Path,
    options: ReadOptions | None = None,
    *,
    progress: Progress | None = None,
    begun: Reading | None = None,
) -> pl.LazyFrame:
    """Finished rollouts, one row a line, read once when first needed.

    Columns: `_ng_task_index`, `_ng_rollout_index` (Int64), `_source` (String, the file), `_file` (UInt32, its
    number), `_line`, `_offset`, `_length` (Int64; lines from 1, bytes), `_agent`, `_server` (String), `_masked`
    (Boolean), `_flags` (UInt8, see `sources.plans`), `_unfinite` (UInt32, numbers left out of the row),
    `_shape` (String, JSON of the row's metrics in order), `_problem` (String), `_torn` (Boolean), then a column a
    metric (Int64, or Float64 where any value is not a 64-bit whole number; those beyond 2^53 are rounded there).
    A line that could not be used is a row whose `_problem` says why; its other values are null. With
    `options.context` also `_truncated` (Boolean, null without a response), `_row.NAME` (Categorical) for each short
    top-level text, and the fields asked for.

    Args:
        sources: Files, as paths or as `find_run` gives them; several are one run.
        options: How to read them.
        progress: Called with the number of bytes read since the last call.
        begun: A reading of these sources that has begun already.

    Raises:
        SourceError: A file is missing; at collection, one cannot be read or a worker was lost.
    """
    chosen = options or ReadOptions()
    opened = opened_sources(sources)

    def read() -> pl.DataFrame:
        nonlocal begun
        once, begun = begun, None  # after an error it is read anew
        dumps, exports, profiles = kinds_of(opened)
        request, workers = request_rollouts(dumps, chosen), chosen.jobs or usable_cores()
        read_rows = [frame_of(request, workers=workers, progress=progress, begun=once, cached=chosen.cache)]
        if exports:
            read_rows.append(exported_rows(exports, chosen, first_number=len(dumps)))
        if profiles:
            read_rows.append(profiled_rows(profiles, first_number=len(dumps) + len(exports)))
        rows = with_place(pl.concat(read_rows, how="diagonal_relaxed"))
        if chosen.assign_indices:
            rows = _with_indices(rows)
        return with_final_names(*prepared(rows, chosen)).frame

    return lazy_frame(read)


def opened_sources(sources: Iterable[Source | str | Path] | str | Path) -> tuple[Source, ...]:
    """Sources from paths or sources."""
    several = [sources] if isinstance(sources, (str, Path)) else sources
    return tuple(source if isinstance(source, Source) else open_source(source) for source in several)


def with_place(read_rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with every column that a rollout has beside its numbers and its context, be it nowhere."""
    blank = empty_frame((*TEXTS, "_shape")).with_columns(
        _masked=pl.lit(None, pl.Boolean), _flags=pl.lit(None, pl.UInt8)
    )
    return pl.concat([blank, read_rows], how="diagonal_relaxed")


class Prepared(NamedTuple):
    """Rollouts whose metrics are still to be named.

    Attributes:
        rows: Every column but the metrics.
        raw: The finite numbers of each metric where it stands.
        measured: Which rows are measurements (Boolean).
    """

    rows: pl.DataFrame
    raw: dict[Metric, pl.Series]
    measured: pl.Series


def prepared(frame: pl.DataFrame, options: ReadOptions) -> Prepared:
    """Rows as they were read, with their context and without numbers that are none.

    Args:
        frame: As `with_place` gives it, numbered if need be.
        options: Whether a context was asked for, and which rows are measurements.
    """
    if options.context:
        frame = with_context(frame, options, ROOT).with_columns(_truncated=_truncated())
    columns = [name for name in frame.columns if name.startswith(RAW)]
    raw, unfinite = without_infinities({metric_of(name): frame[name] for name in columns}, len(frame))
    if "_unfinite" in frame.columns:  # an export tells of what was left out when it was made
        unfinite += frame["_unfinite"].fill_null(0).cast(pl.UInt32)
    rows = frame.drop(*columns, "_prompt_digest", strict=False).with_columns(_unfinite=unfinite)
    return Prepared(rows, raw, measured_rows(rows, options))


def _truncated() -> pl.Expr:
    """Whether a response was cut off; null where there is no response."""
    flags = pl.col("_flags")
    return pl.when(flags & NO_RESPONSE == 0).then(flags & TRUNCATED > 0)


def measured_rows(frame: pl.DataFrame, options: ReadOptions) -> pl.Series:
    """Which rows are measurements (Boolean): whole ones that are not masked, or masked ones too if asked."""
    whole = frame["_problem"].is_null()
    if options.masked == "include":
        return whole
    return whole & ~frame["_masked"].fill_null(value=False)


def _with_indices(frame: pl.DataFrame) -> pl.DataFrame:
    """Numbers rows without indices, unless other rows have them: then these are of no use."""
    without = unnumbered(frame)
    if not without.any():
        return frame
    if without.sum() < frame["_problem"].null_count():
        return frame.with_columns(_problem=pl.when(without).then(pl.lit(MIXED)).otherwise("_problem"))
    return numbered(frame, PROMPTS)[0]
