"""`rollprof compare`: is this run better than that one, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from pipeline.cli.asked import FieldsAsked, RuleAsked, RunAsked, TableAsked
from pipeline.cli.choices import Pair
from pipeline.cli.console import Console
from pipeline.cli.spread import spread


@dataclass(frozen=True)
class RunsAsked(RunAsked):
    """Which runs, and how they are read."""

    run: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="BASE CAND", help="BASE CAND…: a rollouts file, run folder, export, profile or quoted glob each."
        ),
    ] = None
    rollouts: Annotated[
        list[str] | None, typer.Option("--rollouts", "-r", hidden=True, help="Every run is a word of its own.")
    ] = None
    inputs: Annotated[
        list[str] | None,
        typer.Option("--inputs", "-i", help="Inputs file or quoted glob of all runs; repeated: of each, in order."),
    ] = None


@spread
def compare(
    asked: RunsAsked,
    fields: FieldsAsked,
    rule: RuleAsked,
    table: TableAsked,
    key: Annotated[
        str, typer.Option(help="What tasks are known by: content, index, or a field of the input row, dotted.")
    ] = "content",
    pair: Annotated[Pair, typer.Option(help="Pair tasks, or the same rollouts that were scored twice.")] = Pair.task,
    by: Annotated[list[str] | None, typer.Option(help="Changes by this column of BASE too; repeatable.")] = None,
    flips: Annotated[
        bool, typer.Option("--flips", help="List what passes in one run only, with the commands that show it.")
    ] = False,
    fail_if_worse: Annotated[
        float | None, typer.Option(min=0, help="Exit 5 if the score fell by more: the interval's lower bound counts.")
    ] = None,
    by_estimate: Annotated[
        bool, typer.Option("--by-estimate", help="Of --fail-if-worse: the estimate counts, not the bound.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 5 on too little data.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random signs.")] = 0,
) -> None:
    """Compare runs with a base, paired by task: better, worse, how sure, and how much of it is infrastructure."""
    from pipeline.cli.opening import limit_threads

    limit_threads(asked.workers)
    from pipeline.cli.comparing import Asked, Gate, answer

    console = Console(as_json=table.as_json, quiet=asked.quiet)
    question = Asked(
        key=key, pair="task" if pair is Pair.task else "rollout", by=tuple(by or ()), rule=rule, seed=seed, flips=flips
    )
    gate = Gate(fail_if_worse, by_estimate=by_estimate, strict=strict)
    answer(question, asked, fields, table, console, gate=gate)
