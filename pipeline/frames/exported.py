"""Parquet exports of rollouts → the rows that reading the dump would have given."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs

from pipeline import names
from pipeline.errors import SourceError
from pipeline.frames.metrics import RAW, metric_of, raw_column, shape_of, shape_text
from pipeline.frames.spill import slices
from pipeline.options import ReadOptions
from pipeline.sources.files import Source, ends_digest
from pipeline.sources.plans import UNNUMBERED
from pipeline.sources.reading import Metric

FACTS = "rollprof."
"""Starts the names of what an export's file metadata says."""
NEEDED = (*names.KEY, *names.PLACE, "_agent", "_own_agent", "_own_server", "_masked", "_flags", "_shape")
NOT_READ = ("_measured", "_truncated")
LABEL = "_shown_agent"
"""The agent that an export shows for a rollout: who it belongs to where there are no inputs to say so."""


def exported_rows(sources: Sequence[Source], options: ReadOptions, *, first_number: int = 0) -> pl.DataFrame:
    """The rows of exports, as `Gathered.frame` gives those of a dump: a column for each metric where it stands.

    Args:
        sources: Parquet files that `rollprof export` wrote.
        options: Which metrics are wanted: others, and those of other nested paths, are left out.
        first_number: The number of the first of them among all sources of the run.

    Raises:
        SourceError: A file cannot be read, or is no export of rollouts.
    """
    numbered = enumerate(sources, first_number)
    read = (rows for number, source in numbered for rows in exported_slices(source, number, options))
    return pl.concat(read, how="diagonal_relaxed")


def exported_slices(
    source: Source, number: int, options: ReadOptions, *, values: int | None = None
) -> Iterator[pl.DataFrame]:
    """The rows of one export as `exported_rows` gives them, in order, so many values at a time; at least one slice.

    Args:
        source: A Parquet file that `rollprof export` wrote.
        number: Its number among all sources of the run.
        options: Which metrics are wanted.
        values: About how many values a slice has; None for all.

    Raises:
        SourceError: The file cannot be read, or is no export of rollouts.
    """
    try:
        yield from _slices(source, number, options, values)
    except (pl.exceptions.PolarsError, OSError, ValueError, KeyError, TypeError) as error:
        reason = f"{error}".splitlines()[0] if f"{error}" else type(error).__name__
        raise SourceError(f"cannot be read: {reason}", where=source.shown, hint="Export it again.") from error


def _slices(source: Source, number: int, options: ReadOptions, values: int | None) -> Iterator[pl.DataFrame]:
    whole = pl.scan_parquet(source.path, glob=False)
    lazy = whole.select(cs.by_index(_columns(whole.collect_schema(), options)))
    told = pl.read_parquet_metadata(source.path)
    missing = [name for name in NEEDED if name not in lazy.collect_schema()]
    if missing:
        raise SourceError(
            f"is no export of rollouts: it has no column {missing[0]}",
            where=source.shown,
            hint="Make it with rollprof export RUN -o FILE.parquet.",
        )
    types = json.loads(told.get(f"{FACTS}types", "{}"))
    dumps = json.loads(told.get(f"{FACTS}sources", "[]"))
    places = {dump["path"]: _dump_of(source.path, dump) for dump in dumps}
    for rows in slices(lazy, values):
        frame = rows.cast(dict.fromkeys(names.KEY, pl.Int64))
        as_in_the_dump = {name: _typed(frame[name], types.get(name)) for name in frame.columns}
        read = _as_read(pl.DataFrame(as_in_the_dump), number, options)
        yield read.with_columns(pl.col("_source").replace(places))


def _typed(values: pl.Series, kind: str | None) -> pl.Series:
    """Numbers in the type that they have in the dump; those that a double has rounded beyond it stay doubles."""
    if kind is None:
        return values
    exact = values.alias("").cast(pl.Int64 if kind == "Int64" else pl.Float64, strict=False)
    return exact if exact.null_count() == values.null_count() else values


def _dump_of(export: Path, dump: dict[str, Any]) -> str:
    """Where the dump is that an export tells of: where it was, or beside the export, if it is still the same."""
    for path in (Path(dump["path"]), Path(dump["absolute"]), export.parent / Path(dump["path"]).name):
        try:
            if path.stat().st_size == dump["bytes"] and ends_digest(path, dump["bytes"]) == dump["ends"]:
                return names.shown(path)
        except (OSError, ValueError):
            continue
    changed = " (changed since it was exported)" if os.path.exists(dump["absolute"]) else ""  # noqa: PTH110
    return f"{dump['absolute']}{changed}"


def _columns(schema: pl.Schema, options: ReadOptions) -> list[int]:
    """The columns to read by their place, for names can look like patterns: of the metrics only those wanted."""
    only = options.metrics
    return [
        place
        for place, name in enumerate(schema)
        if only is None
        or name in only
        or (name.startswith(names.INTERNAL) and not (name.startswith(RAW) and metric_of(name)[1] not in only))
    ]


def _as_read(frame: pl.DataFrame, number: int, options: ReadOptions) -> pl.DataFrame:
    own = [name for name in frame.columns if name.startswith(names.INTERNAL) and not name.startswith(RAW)]
    rows = frame.select(own).drop(*NOT_READ, "_file", strict=False)
    rows = rows.rename({"_agent": LABEL, "_own_agent": "_agent", "_own_server": "_server"})
    nested = tuple("/".join(path) + "/" for path in options.nested_paths)
    raw: dict[str, pl.Series] = {}
    told: dict[str | None, str | None] = {None: None}
    for text in frame["_shape"].drop_nulls().unique(maintain_order=True):
        top, usage = (
            tuple(metric for metric in part if _is_wanted(metric, nested, options.metrics)) for part in shape_of(text)
        )
        told[text] = shape_text((top, usage))
        for metric in (*top, *usage):
            kept = raw_column(metric)
            raw.setdefault(kept, frame[kept if kept in frame.columns else metric[1]].alias(kept))
    about = rows.with_columns(
        _flags=pl.col("_flags").cast(pl.UInt8) & pl.lit(255 - UNNUMBERED, pl.UInt8),
        _shape=pl.col("_shape").replace_strict(told, return_dtype=pl.String),
        _problem=pl.lit(None, pl.String),
        _torn=pl.lit(None, pl.Boolean),
        _file=pl.lit(number, pl.UInt32),
    )
    return pl.DataFrame({name: about[name] for name in about.columns} | raw)


def _is_wanted(metric: Metric, nested: tuple[str, ...], only: tuple[str, ...] | None) -> bool:
    place, name = metric
    return (only is None or name in only) and (not place.endswith("nested") or name.startswith(nested))
