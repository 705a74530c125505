"""Verdicts on rollouts as a LazyFrame."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from pipeline import names
from pipeline.frames.chunks import empty_frame
from pipeline.frames.lazy import lazy_frame
from pipeline.frames.rollouts import opened_sources
from pipeline.frames.scanning import frame_of
from pipeline.sources.files import Source
from pipeline.sources.reading import Job
from pipeline.sources.readings import Request
from pipeline.sources.verdicts import read_verdicts


def scan_verdicts(sources: Iterable[Source | str | Path] | str | Path) -> pl.LazyFrame:
    """What a quality check says of each rollout: the last line of each key, read once when first needed.

    Columns: `_ng_task_index`, `_ng_rollout_index` (Int64), `_verdict` (String: healthy, unhealthy or unobserved),
    `_findings` (List of String).

    Raises:
        SourceError: A file is missing; at collection, one cannot be read.
    """
    return last_verdicts(read_verdict_lines(sources))


def last_verdicts(lines: pl.LazyFrame) -> pl.LazyFrame:
    """The last usable line of each key, as `scan_verdicts` gives them, of lines that `read_verdict_lines` gives."""
    return (
        lines.filter(pl.col("_problem").is_null())
        .unique(names.KEY, keep="last", maintain_order=True)
        .select(*names.KEY, "_verdict", pl.col("_findings").str.json_decode(pl.List(pl.String)))
    )


def read_verdict_lines(sources: Iterable[Source | str | Path] | str | Path) -> pl.LazyFrame:
    """Every line of verdicts, those that cannot be used too, read once when first needed.

    Columns: both indices (Int64), `_verdict`, `_findings` (String, a JSON list), `_source`, `_line`, `_problem`, ….
    """
    opened = opened_sources(sources)

    def read() -> pl.DataFrame:
        read_rows = frame_of(Request(read_verdicts, opened, Job(())), workers=1)
        return pl.concat([empty_frame(names.FINDINGS), read_rows], how="diagonal_relaxed")

    return lazy_frame(read)
