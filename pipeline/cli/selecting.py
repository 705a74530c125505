"""Rows for which an SQL expression is true."""

from __future__ import annotations

import json

import polars as pl

from pipeline.errors import UsageError
from pipeline.output.tables import on_one_line
from pipeline.profile.expressions import is_pattern


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
    if where is None:
        return frame
    hint = columns_hint(table, frame.columns)
    try:
        verdict = frame.rename(sql_names(frame.columns)).select(_where=pl.sql_expr(where))["_where"]
    except pl.exceptions.PolarsError as error:
        raise UsageError(f"{option}: {sql_reason(error)}", hint=hint) from error
    if verdict.dtype not in {pl.Boolean, pl.Null}:
        raise UsageError(f"{option}: it gives {verdict.dtype}, neither true nor false", hint="Compare it: reward >= 1")
    if len(verdict) != len(frame):
        raise UsageError(
            f"{option}: it gives one answer for all {table}", hint="SQL can sum up: rollprof query --sql …"
        )
    return frame.filter(verdict.fill_null(value=False).cast(pl.Boolean))


def sql_names(columns: list[str]) -> dict[str, str]:
    """New names for columns that SQL would read as patterns: `*` is `(*)`."""
    return {name: f"({name})" for name in columns if is_pattern(name)}


def sql_reason(error: Exception) -> str:
    """What Polars has to say of SQL, in a line, without the list of columns."""
    return on_one_line(str(error).splitlines()[0].partition("; valid columns")[0])


def columns_hint(table: str, columns: list[str]) -> str:
    """The columns of a table, as SQL names them."""
    renamed = sql_names(columns)
    shown = [renamed.get(name, name) for name in columns]
    named = ", ".join(one if one.isidentifier() else on_one_line(json.dumps(one, ensure_ascii=False)) for one in shown)
    return f"Columns of {table}: {named}"
