"""Rollouts → a flat table whose column types are the same for every run, and which can be read as a source again."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from pipeline import names
from pipeline.errors import UsageError
from pipeline.frames.exported import FACTS
from pipeline.frames.metrics import RAW, metric_of
from pipeline.profile.expressions import column, metrics_of
from pipeline.sources.files import Source, ends_digest

TOKENS = "_tokens"
ALWAYS = ("reward", "input_tokens", "output_tokens", "total_tokens")
LARGEST_EXACT = 2**53
FIRST = (*names.KEY, "_agent", *ALWAYS)
NOT_KEPT = (
    "_finished",
    "_agent_order",
    "_row_agent",
    "_group",
    "_shown_agent",
    "_server",
    "_file",
    *(f"_input{p}" for p in names.PLACE),
)


class Exported(NamedTuple):
    """A table of rollouts, and what to know of it.

    Attributes:
        table: One row a rollout, by agent, task and rollout.
        types: Columns that are whole numbers in the dump and doubles here, or the other way round: their type there.
        rounded: Columns with whole numbers beyond 2^53, which a double rounds, and how many they are.
        fractional: Token columns that are kept as doubles, because some of their values are no whole numbers.
    """

    table: pl.DataFrame
    types: dict[str, str]
    rounded: dict[str, int]
    fractional: list[str]


def rollout_table(rollouts: pl.DataFrame, *, integers: Sequence[str] = ()) -> Exported:
    """Rollouts with column types that do not depend on the run.

    Columns: both indices (Int64), `_agent` (String), reward (Float64), input, output and total tokens (Int64), every
    other metric (Float64; Int64 if its name ends in `_tokens` or is one of `integers`); then what rollouts are told
    apart by (fields and short texts as String), and the bookkeeping that it takes to profile the table again. A column
    without any value has its type all the same.

    Args:
        rollouts: As `Run.export` gives them.
        integers: Metrics that are Int64.

    Raises:
        UsageError: A metric that is to be Int64 has other numbers.
    """
    metrics = dict.fromkeys([*ALWAYS, *metrics_of(rollouts.columns)])
    for name in integers:
        metrics.setdefault(name)  # a shard may have none of them
        if name in rollouts.columns and not _is_whole(rollouts[name].alias("")):
            raise UsageError(f"--integers {name}: some of its numbers are not whole", hint="Leave it out.")
    found = Exported(pl.DataFrame(), {}, {}, [])
    internal = [name for name in rollouts.columns if name.startswith(names.INTERNAL) and name not in NOT_KEPT]
    columns: dict[str, pl.Series] = {}
    for name in dict.fromkeys([*FIRST, *metrics, *internal]):
        missing = name not in rollouts.columns
        values = pl.Series([None] * len(rollouts), dtype=pl.Null) if missing else rollouts[name].alias("")
        if name.startswith(RAW) or name in metrics:
            columns[name] = _metric(values, name, integers, found)
        else:
            columns[name] = _context(values, name)
    return found._replace(table=pl.DataFrame(columns))


def _metric(values: pl.Series, name: str, integers: Sequence[str], found: Exported) -> pl.Series:
    """The numbers of a metric in the type that it has in every export; what that changes is noted.

    The series has no name of its own, for one whose name is a pattern misbehaves.
    """
    metric = metric_of(name)[1] if name.startswith(RAW) else name
    is_tokens = metric.endswith(TOKENS)
    wanted = pl.Int64 if metric in integers or (is_tokens and _is_whole(values)) else pl.Float64
    if values.dtype in {pl.Int64, pl.Float64} and values.dtype != wanted:
        found.types[name] = str(values.dtype)
    if wanted == pl.Int64:
        return values.cast(pl.Int64)
    if is_tokens:
        found.fractional.append(name)
    if values.dtype == pl.Int64 and (beyond := int((values.abs() > LARGEST_EXACT).sum())):
        found.rounded[name] = beyond
    return values.cast(pl.Float64)


def _context(values: pl.Series, name: str) -> pl.Series:
    """What rollouts are told apart by: texts, also for numbers and flags among the fields that were asked for."""
    if values.dtype == pl.Categorical:
        return values.cast(pl.String)
    return values.cast(pl.String) if name not in names.ROLLOUT_COLUMNS and not values.dtype.is_nested() else values


def facts_of(
    exported: Exported, sources: Iterable[Source], options: dict[str, Any], counts: dict[str, int]
) -> dict[str, str]:
    """What a Parquet file says of where it comes from: tool, sources with size and SHA-256, options, row counts."""
    told = [
        {
            "path": source.shown,
            "absolute": names.shown(os.path.realpath(source.path)),
            "bytes": source.size,
            "sha256": sha256_of(source.path),
            "ends": ends_digest(source.path, source.size),
        }
        for source in sources
    ]
    about: dict[str, Any] = {
        "version": metadata.version("rollprof"),
        "sources": told,
        "options": options,
        "rows": counts,
        "types": exported.types,
    }
    return {f"{FACTS}{name}": json.dumps(value, ensure_ascii=False) for name, value in about.items()}


def for_people(table: pl.DataFrame) -> pl.DataFrame:
    """The table without the bookkeeping that only serves to profile it again."""
    hidden = {"_shape", "_flags", "_unfinite", "_own_agent", "_own_server"}
    return table.select(column(name) for name in table.columns if name not in hidden and not name.startswith(RAW))


def _is_whole(values: pl.Series) -> bool:
    if not values.dtype.is_float():
        return True
    known = values.drop_nulls()
    return bool(((known == known.floor()) & (known.abs() < 2**63)).all())


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
