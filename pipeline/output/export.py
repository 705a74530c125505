"""Rollouts → a flat table whose column types are the same for every run, and which can be read as a source again."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
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
    *names.INPUT_PLACE,
)


class Numbers(NamedTuple):
    """What to know of the numbers of a column: whether all are whole, and how many whole ones are beyond 2^53."""

    whole: bool = True
    beyond: int = 0

    def __or__(self, others: Numbers) -> Numbers:
        """What to know of these numbers and of others."""
        return Numbers(self.whole and others.whole, self.beyond + others.beyond)


class Layout(NamedTuple):
    """The columns of a table of rollouts, and what to know of them.

    Attributes:
        columns: Every column in order; the type of a metric, None for what rollouts are told apart by.
        types: Columns that are whole numbers in the dump and doubles here, or the other way round: their type there.
        rounded: Columns with whole numbers beyond 2^53, which a double rounds, and how many they are.
        fractional: Token columns that are kept as doubles, because some of their values are no whole numbers.
    """

    columns: dict[str, type[pl.DataType] | None]
    types: dict[str, str]
    rounded: dict[str, int]
    fractional: list[str]


def layout(pieces: Iterable[pl.DataFrame], *, integers: Sequence[str] = ()) -> tuple[Layout, dict[str, int]]:
    """Column types that do not depend on the run, and how many rollouts and tasks there are.

    Columns: both indices (Int64), `_agent` (String), reward (Float64), input, output and total tokens (Int64), every
    other metric (Float64; Int64 if its name ends in `_tokens` or is one of `integers`); then what rollouts are told
    apart by (fields and short texts as String), and the bookkeeping that it takes to profile the table again. A column
    without any value has its type all the same.

    Args:
        pieces: Rollouts as `Run.export` gives them, in pieces that have the same columns; at least one.
        integers: Metrics that are Int64.

    Raises:
        UsageError: A metric that is to be Int64 has other numbers.
    """
    schema, numbers, height, tasks = pl.Schema(), dict[str, Numbers](), 0, pl.Series(dtype=pl.Int64)
    for piece in pieces:
        schema = piece.schema
        height += len(piece)
        tasks = pl.concat([tasks, piece[names.TASK].unique().alias("")])
        for name, told in _numbers_in(piece, integers).items():
            numbers[name] = numbers.get(name, Numbers()) | told
    return _layout(schema, numbers, integers), {"rollouts": height, "tasks": tasks.n_unique()}


def _numbers_in(rollouts: pl.DataFrame, integers: Sequence[str]) -> dict[str, Numbers]:
    """What to know of the numbers of each metric before its type is chosen."""
    found = {}
    for name in rollouts.columns:
        if name.startswith(RAW) or not name.startswith(names.INTERNAL):
            values = rollouts[name].alias("")  # a series whose name is a pattern misbehaves
            asked = _metric(name) in integers or _metric(name).endswith(TOKENS)
            beyond = int((values.abs() > LARGEST_EXACT).sum()) if values.dtype == pl.Int64 else 0
            found[name] = Numbers(asked and _is_whole(values), beyond)
    return found


def _layout(schema: pl.Schema, numbers: Mapping[str, Numbers], integers: Sequence[str]) -> Layout:
    metrics = dict.fromkeys([*ALWAYS, *metrics_of(schema), *integers])  # a shard may have none of them
    for name in integers:
        if name in schema and not numbers[name].whole:
            raise UsageError(f"--integers {name}: some of its numbers are not whole", hint="Leave it out.")
    found = Layout({}, {}, {}, [])
    internal = [name for name in schema if name.startswith(names.INTERNAL) and name not in NOT_KEPT]
    for name in dict.fromkeys([*FIRST, *metrics, *internal]):
        is_metric = name.startswith(RAW) or name in metrics
        told = numbers.get(name, Numbers())
        found.columns[name] = _type(name, schema.get(name), told, integers, found) if is_metric else None
    return found


def _type(
    name: str, dtype: pl.DataType | None, told: Numbers, integers: Sequence[str], found: Layout
) -> type[pl.DataType]:
    """The type that a metric has in every export; what that changes is noted, once for all its columns."""
    is_tokens = _metric(name).endswith(TOKENS)
    wanted = pl.Int64 if _metric(name) in integers or (is_tokens and told.whole) else pl.Float64
    if dtype in {pl.Int64, pl.Float64} and dtype != wanted:
        found.types[name] = str(dtype)
    if name.startswith(RAW):
        return wanted
    if wanted == pl.Float64 and is_tokens:
        found.fractional.append(name)
    if wanted == pl.Float64 and told.beyond:
        found.rounded[name] = told.beyond
    return wanted


def rollout_table(rollouts: pl.DataFrame, columns: Layout) -> pl.DataFrame:
    """Rollouts, or some of them, as the table that a layout tells of.

    Args:
        rollouts: As `Run.export` gives them.
        columns: As `layout` gives it.
    """
    table: dict[str, pl.Series] = {}
    for name, dtype in columns.columns.items():
        missing = name not in rollouts.columns
        values = pl.Series([None] * len(rollouts), dtype=pl.Null) if missing else rollouts[name].alias("")
        table[name] = _context(values, name) if dtype is None else values.cast(dtype)
    return pl.DataFrame(table)


def _metric(name: str) -> str:
    """The name of the metric that a column is for."""
    return metric_of(name)[1] if name.startswith(RAW) else name


def _context(values: pl.Series, name: str) -> pl.Series:
    """What rollouts are told apart by: texts, also for numbers and flags among the fields that were asked for."""
    if values.dtype == pl.Categorical:
        return values.cast(pl.String)
    return values.cast(pl.String) if name not in names.ROLLOUT_COLUMNS and not values.dtype.is_nested() else values


def facts_of(
    columns: Layout, sources: Iterable[Source], options: dict[str, Any], counts: dict[str, int]
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
        "types": columns.types,
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
