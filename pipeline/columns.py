"""The columns that questions are about: found by the name a user gives, or refused with those there are."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence

import polars as pl

from pipeline import names
from pipeline.errors import UsageError
from pipeline.frames.lazy import collect
from pipeline.options import ROOTS
from pipeline.profile.expressions import column, metrics_of
from pipeline.run import BOOKKEEPING, Run


def measured(run: Run, *metrics: str) -> pl.LazyFrame:
    """The rollouts that are measurements: finished and not masked.

    Raises:
        UsageError: There is none of these columns of numbers.
    """
    return with_numbers(run.rollouts, *metrics).filter(pl.col("_measured"))


def planned(run: Run) -> pl.LazyFrame:
    """The planned rollouts by key, with what a quality check says of those that finished as `_verdict`."""
    return run.aligned.frame.drop(names.FINDINGS, strict=False).join(
        run.rollouts.select(*names.KEY, "_verdict"), on=names.KEY, how="left", maintain_order="left"
    )


def scored(run: Run, *metrics: str) -> pl.LazyFrame:
    """The measured rollouts that have a reward and a number in each of these columns.

    Raises:
        UsageError: There is no such column, or it holds no numbers.
    """
    wanted = (names.REWARD, *metrics)
    has_all = pl.all_horizontal(column(name).is_not_null() for name in wanted)
    return measured(run, *wanted).filter(has_all)


def with_numbers(rows: pl.LazyFrame, *metrics: str) -> pl.LazyFrame:
    """The rows with these columns; where there is no row at all, none is missing, and they are Float64.

    Raises:
        UsageError: There is no such column, or it holds no numbers.
    """
    schema = rows.collect_schema()
    missing = [name for name in dict.fromkeys(metrics) if name not in schema]
    if missing and collect(rows.select(names.TASK).head(1)).is_empty():
        rows = rows.with_columns(pl.lit(None, pl.Float64).alias(name) for name in missing)
        schema = rows.collect_schema()
    need(rows, *metrics)
    for name in metrics:
        if not schema[name].is_numeric():
            raise UsageError(f"column {name!r} holds no numbers", hint=f"Metrics: {', '.join(metrics_of(schema))}.")
    return rows


def need(rows: pl.LazyFrame, *columns: str) -> None:
    """Makes sure that the columns are there.

    Raises:
        UsageError: One is not; its hint lists those there are.
    """
    there = rows.collect_schema().names()
    known = [name for name in there if name not in BOOKKEEPING]
    for name in columns:
        if name not in there and names.internal(f"row.{name}") in there:
            numbers = ", ".join(metrics_of(there)) or "none"
            raise UsageError(f"no rollout has a number in {name!r}", hint=f"It is text. Metrics: {numbers}.")
        if name not in there:
            close = difflib.get_close_matches(name, known, 3, 0.5)
            guess = f"Did you mean {' or '.join(close)}? " if close else ""
            raise UsageError(f"there is no column {name!r}", hint=f"{guess}There are {_listed(known)}.")


def by_columns(rows: pl.LazyFrame, by: Sequence[str]) -> list[str]:
    """The columns that a user means by names: as they are, or without the `_` that columns beside the metrics have.

    A field of one of the two rows needs no `input.` or `row.` before it.

    Raises:
        UsageError: There is no such column, it holds lists, or the name means several.
    """
    schema = rows.collect_schema()
    found = list(dict.fromkeys(meant(name, schema.names()) for name in by))
    _need_read(found, schema)
    need(rows, *found)
    for name in found:
        if schema[name].is_nested():
            raise UsageError(f"column {name!r} holds lists", hint="Rows are grouped by columns of single values.")
    return found


def meant(name: str, there: Collection[str]) -> str:
    """The column that a name means, with or without the `_`, `_input.` or `_row.` before it; itself where none does.

    Raises:
        UsageError: Both rows have a field of that name.
    """
    for one in (name, names.internal(name)):
        if one in there:
            return one
    fields = [root + name for root in ROOTS if names.internal(root + name) in there]
    if len(fields) > 1:
        raise UsageError(f"{name!r} means several columns", hint=f"Say which: {' or '.join(fields)}.")
    return names.internal(fields[0]) if fields else name


def _need_read(columns: Sequence[str], schema: pl.Schema) -> None:
    """Refuses a field inside another, which is a column only where it was asked for."""
    for name in columns:
        path = name.removeprefix(names.INTERNAL)
        if name not in schema and path.startswith(ROOTS) and path.count(".") > 1:
            last = path.rpartition(".")[2]
            raise UsageError(f"there is no column {name!r}", hint=f"Ask for it: --field {last}={path} --by {last}")


def _listed(there: list[str]) -> str:
    """The metrics first, then what rollouts are told apart by."""
    return ", ".join([*metrics_of(there), *(name for name in there if name.startswith(names.INTERNAL))])
