"""`rollprof profile`: what can be asked of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.choices import Masked, OnBadLine, OnDuplicate, OnExtra
from pipeline.cli.console import Console
from pipeline.cli.profiling import Named, limit_threads, profile_run
from pipeline.sources.workers import usable_cores


def profile(
    run: Annotated[
        list[str] | None,
        typer.Argument(help="Rollouts files, a run folder or quoted globs; the inputs beside them are found by name."),
    ] = None,
    rollouts: Annotated[
        list[str] | None, typer.Option("--rollouts", "-r", help="Rollouts file or quoted glob; repeatable.")
    ] = None,
    inputs: Annotated[
        list[str] | None, typer.Option("--inputs", "-i", help="Materialized inputs file or quoted glob; repeatable.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="STEM of the outputs; needed with several rollouts files.")
    ] = None,
    output_dir: Annotated[
        Path | None, typer.Option(help="Folder for the outputs, made if need be; else beside the rollouts.")
    ] = None,
    partial: Annotated[
        bool, typer.Option("--partial", "--allow-partial-rollouts", help="Allow planned rollouts that are not there.")
    ] = False,
    masked: Annotated[Masked, typer.Option(help="Rollouts with a truthy mask_sample.")] = Masked.exclude,
    on_duplicate: Annotated[OnDuplicate, typer.Option(help="Rollouts that share a key.")] = OnDuplicate.error,
    on_extra: Annotated[OnExtra, typer.Option(help="Rollouts without an input row.")] = OnExtra.error,
    on_bad_line: Annotated[OnBadLine, typer.Option(help="Lines that cannot be used.")] = OnBadLine.error,
    nested: Annotated[
        list[str] | None,
        typer.Option(help="Object field whose numbers are metrics too, dotted; usage is response.usage; repeatable."),
    ] = None,
    counts: Annotated[
        bool, typer.Option("--counts", help="Add count/METRIC: how many rollouts a figure rests on.")
    ] = False,
    rollouts_only: Annotated[bool, typer.Option("--rollouts-only", help="Profile without an inputs file.")] = False,
    assign_indices: Annotated[
        bool,
        typer.Option("--assign-indices", help="Number rows without indices: same prompt is same task."),
    ] = False,
    min_completion: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Exit 5 below this share of finished rollouts.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="Processes; else the cores this process may use.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only warnings and refusals.")] = False,
) -> None:
    """Profile a run: figures per task, agent and repeat.

    Writes STEM_reward_profiling.jsonl, STEM_agent_metrics.json and STEM_repeat_level_metrics.json.
    """
    workers = jobs or usable_cores()
    limit_threads(workers)
    named = Named(run or (), rollouts or (), inputs or (), output, output_dir)
    from pipeline.options import ProfileOptions

    options = ProfileOptions(
        nested=tuple(nested or ()),
        masked=masked.value,
        assign_indices=assign_indices,
        jobs=workers,
        partial=partial,
        on_duplicate=on_duplicate.value,
        on_extra=on_extra.value,
        on_bad_line=on_bad_line.value,
        counts=counts,
        rollouts_only=rollouts_only,
        min_completion=min_completion,
    )
    profile_run(named, options, Console(as_json=as_json, quiet=quiet))
