"""`rollprof show`: rollouts as they went, one by one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import typer

from pipeline.cli.asked import RuleAsked, RunAsked, TableAsked
from pipeline.cli.console import Console
from pipeline.cli.spread import spread


@dataclass(frozen=True)
class ListAsked(TableAsked):
    """How a list of rollouts is printed."""

    limit: Annotated[int | None, typer.Option(min=0, help="Rollouts listed at most, 0 for all; else 20.")] = None


@spread
def show(
    asked: RunAsked,
    table: ListAsked,
    rule: RuleAsked,
    raw: Annotated[bool, typer.Option("--raw", help="The rollout's line as it stands in the file.")] = False,
    field: Annotated[
        str | None, typer.Option(help="Only this value of the row, dotted: response.output.0.content.")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Leave out neither token ids nor base64 nor long fields.")
    ] = False,
    where: Annotated[
        str | None, typer.Option(help="List rollouts for which this SQL holds: reward < 1 and output_tokens > 500.")
    ] = None,
    sort: Annotated[str | None, typer.Option(help="List them by this column; -reward: largest first.")] = None,
    contrast: Annotated[
        int | None, typer.Option(help="A task: its best passing and its worst failing rollout.")
    ] = None,
    threshold: Annotated[float | None, typer.Option(hidden=True, help="The same as --pass-threshold.")] = None,
    against: Annotated[
        str | None, typer.Option(help="Another run: the same task or rollout there, and the one here.")
    ] = None,
    against_inputs: Annotated[
        list[str] | None, typer.Option(help="Inputs of --against, where they are not found by name; repeatable.")
    ] = None,
) -> None:
    """Show rollouts: rollprof show RUN lists them, RUN 12 those of a task, RUN 12:3 one (task:rollout) in full."""
    from pipeline.cli.opening import limit_threads

    limit_threads(asked.workers)
    from pipeline.cli.picking import Listed
    from pipeline.cli.showing import Pick, View, answer

    console = Console(as_json=table.as_json, quiet=asked.quiet)
    view = View(raw=raw, field=field, full=full)
    if threshold is not None:
        rule = replace(rule, pass_threshold=[*(rule.pass_threshold or ()), repr(threshold)])
    pick = Pick(contrast, against, tuple(against_inputs or ()), rule)
    answer(asked, table, console, view=view, listed=Listed(where, sort), pick=pick)
