"""`rollprof query`: questions by name, or in SQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from pipeline.cli.asked import FieldsAsked, RunAsked, TableAsked
from pipeline.cli.console import Console
from pipeline.cli.spread import spread


@dataclass(frozen=True)
class QueryAsked(RunAsked):
    """Which question, about which run, and how it is read."""

    run: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME RUN",
            help="A query's name or a file of SQL, unless there is --sql; then rollouts files, a run folder or quoted "
            "globs; the inputs beside them are found by name.",
        ),
    ] = None


@spread
def query(
    asked: QueryAsked,
    fields: FieldsAsked,
    table: TableAsked,
    sql: Annotated[
        str | None, typer.Option(help="SQL over rollouts, inputs, tasks, agents, repeats, failures and every --table.")
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the queries and their parameters.")] = False,
    param: Annotated[list[str] | None, typer.Option("--param", "-p", help="k=v for the query; repeatable.")] = None,
    by: Annotated[list[str] | None, typer.Option(help="Group by this column; repeatable.")] = None,
    add_table: Annotated[
        list[str] | None, typer.Option("--table", help="NAME=FILE: a JSONL, CSV or Parquet file for SQL; repeatable.")
    ] = None,
    fail_if_rows: Annotated[bool, typer.Option("--fail-if-rows", help="Exit 5 if there is any row.")] = False,
) -> None:
    """Ask a run: rollprof query NAME RUN, or rollprof query --sql "select …" RUN; --list has the names."""
    from pipeline.cli.opening import limit_threads

    limit_threads(asked.workers)
    from pipeline.cli.querying import Question, ask, list_queries

    console = Console(as_json=table.as_json, quiet=asked.quiet)
    if list_:
        list_queries(table, console)
        return
    question = Question(sql, tuple(param or ()), tuple(by or ()), tuple(add_table or ()))
    ask(question, asked, fields, table, console, fail_if_rows=fail_if_rows)
