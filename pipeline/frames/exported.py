"""Parquet exports of rollouts → the rows that reading the dump would have given."""

from __future__ import annotations

import json
from collections.abc import Sequence

import polars as pl

from pipeline import names
from pipeline.errors import SourceError
from pipeline.frames.metrics import RAW, metric_of, raw_column, shape_of, shape_text
from pipeline.options import ReadOptions
from pipeline.sources.files import Source
from pipeline.sources.reading import Metric

FACTS = "rollprof."
"""Starts the names of what an export's file metadata says."""
NEEDED = (*names.KEY, *names.PLACE, "_own_agent", "_own_server", "_masked", "_flags", "_shape")
NOT_READ = ("_measured", "_truncated")


def exported_rows(sources: Sequence[Source], options: ReadOptions, *, first_number: int = 0) -> pl.DataFrame:
    """The rows of exports, as `Gathered.frame` gives those of a dump: a column for each metric where it stands.

    Args:
        sources: Parquet files that `rollprof export` wrote.
        options: Which metrics are wanted: others, and those of other nested paths, are left out.
        first_number: The number of the first of them among all sources of the run.

    Raises:
        SourceError: A file cannot be read, or is no export of rollouts.
    """
    frames = [_rows(source, number, options) for number, source in enumerate(sources, first_number)]
    return pl.concat(frames, how="diagonal_relaxed")


def _rows(source: Source, number: int, options: ReadOptions) -> pl.DataFrame:
    try:
        frame = pl.read_parquet(source.path, columns=_columns(source, options))
        types = json.loads(pl.read_parquet_metadata(source.path).get(f"{FACTS}types", "{}"))
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise SourceError(f"cannot be read: {reason}", where=source.shown, hint="Export it again.") from error
    missing = [name for name in NEEDED if name not in frame.columns]
    if missing:
        raise SourceError(
            f"is no export of rollouts: it has no column {missing[0]}",
            where=source.shown,
            hint="Make it with rollprof export RUN -o FILE.parquet.",
        )
    as_in_the_dump = {
        name: frame[name].cast(pl.Int64 if types[name] == "Int64" else pl.Float64) if name in types else frame[name]
        for name in frame.columns
    }
    return _as_read(pl.DataFrame(as_in_the_dump), number, options)


def _columns(source: Source, options: ReadOptions) -> list[int]:
    """The columns to read by their place, for names can look like patterns: of the metrics only those wanted."""
    only = options.metrics
    return [
        place
        for place, name in enumerate(pl.read_parquet_schema(source.path))
        if only is None
        or name in only
        or (name.startswith(names.INTERNAL) and not (name.startswith(RAW) and metric_of(name)[1] not in only))
    ]


def _as_read(frame: pl.DataFrame, number: int, options: ReadOptions) -> pl.DataFrame:
    own = [name for name in frame.columns if name.startswith(names.INTERNAL) and not name.startswith(RAW)]
    rows = frame.select(own).drop(*NOT_READ, "_agent", "_file", strict=False)
    rows = rows.rename({"_own_agent": "_agent", "_own_server": "_server"})
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
        _shape=pl.col("_shape").replace_strict(told, return_dtype=pl.String),
        _problem=pl.lit(None, pl.String),
        _torn=pl.lit(None, pl.Boolean),
        _file=pl.lit(number, pl.UInt32),
    )
    return pl.DataFrame({name: about[name] for name in about.columns} | raw)


def _is_wanted(metric: Metric, nested: tuple[str, ...], only: tuple[str, ...] | None) -> bool:
    place, name = metric
    return (only is None or name in only) and (not place.endswith("nested") or name.startswith(nested))
