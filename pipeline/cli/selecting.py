"""Rows for which an SQL expression is true."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence

import polars as pl

from pipeline.errors import UsageError
from pipeline.frames.lazy import collect
from pipeline.output.tables import on_one_line
from pipeline.profile.expressions import column, is_pattern

QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
"""What is a text or a quoted name in SQL."""
SYSTEM = re.compile(r" \(os error [0-9]+\).*")
"""What Polars adds to the system's words: its number, and the file."""


def selected(
    frame: pl.DataFrame, where: str | None, *, table: str = "rollouts", option: str = "--where"
) -> pl.DataFrame:
    """The rows of a frame for which an SQL expression is true; all where there is none.

    Args:
        frame: What is selected from.
        where: The expression.
        table: What its rows are.
        option: What it was given as.

    Raises:
        UsageError: It cannot be understood, or says nothing of single rows.
    """
    return frame if where is None else frame.filter(verdict(frame.lazy(), where, table=table, option=option))


class Chosen:
    """The rows of a table in pieces for which an SQL expression is true; all where there is none.

    It is about the whole table, and the pieces are collected one by one, each time that they are gone through.

    Raises:
        UsageError: The expression cannot be understood, or says nothing of single rows.
    """

    def __init__(self, pieces: Sequence[pl.LazyFrame], where: str | None) -> None:
        self._pieces = pieces
        self._verdict = None if where is None else verdict(pl.concat(pieces), where)

    def __iter__(self) -> Iterator[pl.DataFrame]:
        start = 0
        for piece in self._pieces:
            rows = collect(piece)
            yield rows if self._verdict is None else rows.filter(self._verdict.slice(start, len(rows)))
            start += len(rows)


def verdict(rows: pl.LazyFrame, where: str, *, table: str = "rollouts", option: str = "--where") -> pl.Series:
    """For which rows an SQL expression is true (Boolean); only the columns that it names are collected.

    Args:
        rows: What is selected from.
        where: The expression.
        table: What its rows are.
        option: What it was given as.

    Raises:
        UsageError: It cannot be understood, or says nothing of single rows.
    """
    columns = rows.collect_schema().names()
    renamed = sql_names(columns)
    try:
        asked = pl.sql_expr(where)
        roots = asked.meta.root_names()
        found = [name for name in columns if renamed.get(name, name) in roots]
        needed = columns if any(map(is_pattern, roots)) else found or columns[:1]
        narrow = collect(rows.select(map(column, needed)))
        told = narrow.rename(sql_names(needed)).select(_where=asked)["_where"]
    except pl.exceptions.PolarsError as error:
        hint = [*quotes_hint(where, columns), columns_hint(table, columns)]
        raise UsageError(f"{option}: {sql_reason(error)}", hint="\n".join(hint)) from error
    if told.dtype not in {pl.Boolean, pl.Null}:
        raise UsageError(f"{option}: it gives {told.dtype}, neither true nor false", hint="Compare it: reward >= 1")
    if len(told) != len(narrow):
        raise UsageError(
            f"{option}: it gives one answer for all {table}", hint="SQL can sum up: rollprof query --sql …"
        )
    return told.fill_null(value=False).cast(pl.Boolean)


def sql_names(columns: list[str]) -> dict[str, str]:
    """New names for columns that SQL would read as patterns: `*` is `(*)`."""
    return {name: f"({name})" for name in columns if is_pattern(name)}


def sql_reason(error: Exception) -> str:
    """What Polars has to say of SQL, in a line, without the list of columns."""
    return on_one_line(str(error).splitlines()[0].partition("; valid columns")[0])


def unread_reason(error: Exception) -> str:
    """Why a file cannot be read, in a line that does not name it once more: who tells it does."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return SYSTEM.sub("", sql_reason(error))


def quotes_hint(text: str, columns: Iterable[str]) -> list[str]:
    """A line that says which columns are named in SQL without the double quotes that they need; none where none is."""
    bare = QUOTED.sub(" ", text)
    missing = [
        f'"{name}"'
        for name in dict.fromkeys(columns)
        if not name.isidentifier() and re.search(_spelt(name), bare, re.IGNORECASE)
    ]
    return [f"Double quotes belong around {', '.join(missing)}."] if missing else []


def _spelt(name: str) -> str:
    """What finds a name as a word of its own, with or without the `_` at its start."""
    return rf"(?<![\w/])_?{re.escape(name.removeprefix('_'))}(?![\w./])"


def columns_hint(table: str, columns: list[str]) -> str:
    """The columns of a table, as SQL names them."""
    renamed = sql_names(columns)
    shown = [renamed.get(name, name) for name in columns]
    named = ", ".join(one if one.isidentifier() else on_one_line(json.dumps(one, ensure_ascii=False)) for one in shown)
    return f"Columns of {table}: {named}"
