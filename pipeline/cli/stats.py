"""`rollprof stats`: how good the agents of a run are, and how sure that is."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.cli.asked import FieldsAsked, RuleAsked, RunAsked, TableAsked
from pipeline.cli.console import Console
from pipeline.cli.spread import spread


@spread
def stats(
    asked: RunAsked,
    rule: RuleAsked,
    fields: FieldsAsked,
    table: TableAsked,
    by: Annotated[list[str] | None, typer.Option(help="Each agent by this column too; repeatable.")] = None,
    figure: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this figure, as pass@4, or pass@k for every k; repeatable. Else all, few of groups for people."
        ),
    ] = None,
    answer_field: Annotated[
        str | None, typer.Option(help="The field whose values vote in majority@k (extracted_answer).")
    ] = None,
    group_size: Annotated[
        str, typer.Option(help="Sizes of groups whose share of mixed ones is foretold, with commas between.")
    ] = "4,8,16",
    draws: Annotated[int, typer.Option(min=1, max=1_000_000, help="Draws of the bootstrap.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="What the draws start from.")] = 0,
    confidence: Annotated[float, typer.Option(help="How much an interval covers, between 0 and 1.")] = 0.95,
) -> None:
    """How good each agent is, and how sure that is: pass@k and the like with intervals, and what is missing."""
    from pipeline.cli.opening import limit_threads

    limit_threads(asked.workers)
    from pipeline.cli.estimating import estimate, stats_options

    console = Console(as_json=table.as_json, quiet=asked.quiet)
    options = stats_options(
        by=by, answer_field=answer_field, group_size=group_size, draws=draws, seed=seed, confidence=confidence
    )
    estimate(options, tuple(figure or ()), rule, asked, fields, table, console)
