"""`rollprof query`: questions by name, or in SQL."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.cli.asked import FieldsAsked, RunAsked, TableAsked
from pipeline.cli.console import Console
from pipeline.cli.spread import spread


@spread
def query(
    asked: RunAsked,
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
    """Ask a run: rollprof NAME RUN or --sql "select …" RUN."""
    from pipeline.cli.opening import limit_threads

    limit_threads(asked.workers)
    from pipeline.cli.querying import Question, ask, list_queries

    console = Console(as_json=table.as_json, quiet=asked.quiet)
    if list_:
        list_queries(table, console)
        return
    question = Question(sql, tuple(param or ()), tuple(by or ()), tuple(add_table or ()))
    ask(question, asked, fields, table, console, fail_if_rows=fail_if_rows)
