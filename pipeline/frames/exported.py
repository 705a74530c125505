"""Parquet exports of rollouts → the rows that reading the dump would have given."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from pipeline import names
from pipeline.errors import SourceError
from pipeline.frames.metrics import RAW, raw_column, shape_of
from pipeline.sources.files import Source

NEEDED = (*names.KEY, *names.PLACE, "_own_agent", "_own_server", "_masked", "_flags", "_shape")
NOT_READ = ("_measured", "_truncated")


def exported_rows(sources: Sequence[Source], *, first_number: int = 0) -> pl.DataFrame:
    """The rows of exports, as `Gathered.frame` gives those of a dump: a column for each metric where it stands.

    Args:
        sources: Parquet files that `rollprof export` wrote.
        first_number: The number of the first of them among all sources of the run.

    Raises:
        SourceError: A file cannot be read, or is no export of rollouts.
    """
    frames = [_rows(source, number) for number, source in enumerate(sources, first_number)]
    return pl.concat(frames, how="diagonal_relaxed")


def _rows(source: Source, number: int) -> pl.DataFrame:
    try:
        frame = pl.read_parquet(source.path)
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
    return _as_read(frame, number)


def _as_read(frame: pl.DataFrame, number: int) -> pl.DataFrame:
    own = [name for name in frame.columns if name.startswith(names.INTERNAL) and not name.startswith(RAW)]
    rows = frame.select(own).drop(*NOT_READ, "_agent", "_file", strict=False)
    rows = rows.rename({"_own_agent": "_agent", "_own_server": "_server"})
    raw: dict[str, pl.Series] = {}
    for text in frame["_shape"].unique(maintain_order=True):
        for metric in (metric for part in shape_of(text) for metric in part):
            kept = raw_column(metric)
            raw.setdefault(kept, frame[kept if kept in frame.columns else metric[1]].alias(kept))
    about = rows.with_columns(
        _problem=pl.lit(None, pl.String), _torn=pl.lit(None, pl.Boolean), _file=pl.lit(number, pl.UInt32)
    )
    return pl.DataFrame({name: about[name] for name in about.columns} | raw)
