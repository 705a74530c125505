"""`rollprof export`: rollouts or tasks as a flat table, or the original lines of some rollouts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.asked import FieldsAsked, RunAsked
from pipeline.cli.console import Console
from pipeline.cli.spread import spread


@spread
def export(
    asked: RunAsked,
    fields: FieldsAsked,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="FILE.parquet or FILE.csv; FILE.jsonl with --rows.")
    ] = None,
    tasks: Annotated[bool, typer.Option("--tasks", help="One row a task, with its rollout_infos.")] = False,
    rows: Annotated[bool, typer.Option("--rows", help="The original lines, byte for byte.")] = False,
    where: Annotated[str | None, typer.Option(help="Only rollouts for which this SQL expression is true.")] = None,
    integers: Annotated[
        list[str] | None, typer.Option(help="A metric that is kept as whole numbers; repeatable.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Export rollouts to Parquet or CSV for other tools; an export can be profiled and queried like the dump."""
    from pipeline.cli.opening import limit_threads

    limit_threads(asked.workers)
    from pipeline.cli.exporting import Wanted, export_run

    wanted = Wanted(output, tuple(integers or ()), where, tasks=tasks, rows=rows)
    export_run(wanted, asked, fields, Console(as_json=as_json, quiet=asked.quiet))
