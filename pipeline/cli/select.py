"""`rollprof select`: a training set from a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.asked import RuleAsked, RunAsked
from pipeline.cli.console import Console
from pipeline.cli.spread import spread


@spread
def select(
    asked: RunAsked,
    rule: RuleAsked,
    pass_rate: Annotated[
        str | None, typer.Option(metavar="LOW:HIGH", help="Only tasks whose pass rate lies there, both ends included.")
    ] = None,
    confidence: Annotated[
        float | None, typer.Option(metavar="P", help="… with this probability, by the posterior of each task.")
    ] = None,
    tolerance: Annotated[
        float, typer.Option(min=0, help="Scores of a task that differ by no more carry no signal.")
    ] = 0.0,
    keep_no_signal: Annotated[
        bool, typer.Option("--keep-no-signal", help="Keep tasks whose rollouts all have the same score.")
    ] = False,
    tokens: Annotated[
        str | None, typer.Option(metavar="LOW:HIGH", help="Only tasks whose mean output_tokens lie there.")
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=LOW:HIGH", help="Only tasks whose mean of a metric lies there; repeatable."),
    ] = None,
    verdict: Annotated[
        str | None, typer.Option(help="Only tasks whose voting rollouts all have this verdict, such as healthy.")
    ] = None,
    where: Annotated[str | None, typer.Option(help="Only tasks for which this SQL expression is true.")] = None,
    size: Annotated[int | None, typer.Option(min=1, help="At most so many tasks, drawn by lot.")] = None,
    balance: Annotated[
        str | None, typer.Option(metavar="FIELD", help="Equally many of each value of a field of the sample, dotted.")
    ] = None,
    ratio: Annotated[
        str | None, typer.Option(metavar="FIELD=A:0.5,B:0.5", help="Shares of values of a field of the sample.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Decides every draw.")] = 0,
    control: Annotated[
        bool, typer.Option("--control", help="Also STEM.control.jsonl: as many drawn from all tasks with a score.")
    ] = False,
    stages: Annotated[
        int | None, typer.Option(min=2, help="A curriculum: STEM.stage1.jsonl and so on, from easy to hard.")
    ] = None,
    domain: Annotated[
        str | None, typer.Option(metavar="FIELD", help="The field that makes the curriculum's domains.")
    ] = None,
    dataset: Annotated[
        Path | None, typer.Option(help="The file that was collected from: its lines are copied, byte for byte.")
    ] = None,
    write_back: Annotated[
        bool, typer.Option("--write-back", help="Add this run's pass rate to each row's reward_profiles.")
    ] = False,
    model: Annotated[str | None, typer.Option(help="The model for --write-back; else response.model.")] = None,
    pairs: Annotated[
        bool, typer.Option("--pairs", help="Write the best and the worst rollout of each mixed task instead of tasks.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would be chosen.")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="FILE.jsonl or FILE.parquet.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Choose tasks for training by difficulty, signal, length and field; the lines can be collected again."""
    from pipeline.cli.opening import limit_threads

    limit_threads(asked.workers)
    from pipeline.cli.curating import Wanted, curate, selection_of

    selection = selection_of(
        pass_rate=pass_rate,
        tokens=tokens,
        metric=metric or (),
        confidence=confidence,
        tolerance=tolerance,
        keep_no_signal=keep_no_signal,
        verdict=verdict,
        where=where,
        size=size,
        balance=balance,
        ratio=ratio,
        seed=seed,
        control=control,
        stages=stages,
        domain=domain,
        pairs=pairs,
    )
    wanted = Wanted(output, dataset, model, write_back=write_back, dry_run=dry_run)
    curate(selection, wanted, asked, rule, Console(as_json=as_json, quiet=asked.quiet))
