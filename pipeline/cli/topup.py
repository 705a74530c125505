"""`rollprof topup`: where more repeats pay, and the inputs that plan them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from pipeline.cli.asked import FieldsAsked, RuleAsked, RunAsked, TableAsked
from pipeline.cli.console import Console
from pipeline.cli.spread import spread


@dataclass(frozen=True)
class TopUpAsked:
    """What is to be known of each task, and what it may cost."""

    pass_rate: Annotated[
        str | None, typer.Option(metavar="LOW:HIGH", help="Know whether each pass rate lies in this band.")
    ] = None
    half_width: Annotated[
        float | None, typer.Option(help="Know each pass rate to within this much: half its interval's width.")
    ] = None
    confidence: Annotated[float, typer.Option(help="How sure either is to be, above 0.5 and below 1.")] = 0.9
    max_repeats: Annotated[int, typer.Option(min=1, help="More repeats of a task at most.")] = 64
    budget_tokens: Annotated[int | None, typer.Option(min=0, help="Tokens that all that is still to come may use.")] = (
        None
    )
    redo: Annotated[
        str | None,
        typer.Option(metavar="SQL", help="Collect again the rollouts for which this holds: _masked or reward is null."),
    ] = None
    max_attempts: Annotated[
        int, typer.Option(min=1, help="Failed attempts after which a collection gives a rollout up.")
    ] = 3
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan and change nothing.")] = False


@dataclass(frozen=True)
class PlanTable(TableAsked):
    """How the plan is printed."""

    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object: the plan, its sums and the commands.")
    ] = False
    output: Annotated[
        str, typer.Option("--output", "-o", help="File for the plan, its suffix says the format; - is standard output.")
    ] = "-"


@spread
def topup(
    asked: RunAsked,
    fields: FieldsAsked,
    wanted: TopUpAsked,
    rule: RuleAsked,
    table: PlanTable,
) -> None:
    """Plan more repeats where they pay: rewrites the inputs in place, prints the command that collects them."""
    from pipeline.cli.opening import limit_threads

    limit_threads(asked.workers)
    from pipeline.cli.topping_up import top_up

    top_up(wanted, asked, fields, rule, table, Console(as_json=table.as_json, quiet=asked.quiet))
