"""`rollprof profile`: what can be asked of it."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.cli.asked import RunAsked
from pipeline.cli.console import Console
from pipeline.cli.spread import spread


@spread
def profile(
    asked: RunAsked,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="STEM", help="STEM of the outputs; needed with several rollouts files."),
    ] = None,
    output_dir: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Folder for the outputs, made if need be; else beside the rollouts."),
    ] = None,
    partial: Annotated[
        bool, typer.Option("--partial", "--allow-partial-rollouts", help="Allow planned rollouts that are not there.")
    ] = False,
    counts: Annotated[
        bool, typer.Option("--counts", help="Add count/METRIC: how many rollouts a figure rests on.")
    ] = False,
    min_completion: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Exit 5 below this share of finished rollouts.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Profile a run: figures per task, agent and repeat.

    Writes STEM_reward_profiling.jsonl, STEM_agent_metrics.json and STEM_repeat_level_metrics.json.
    """
    from pipeline.cli.opening import limit_threads
    from pipeline.cli.profiling import Named, folder_of, profile_run, stem_of

    limit_threads(asked.workers)
    stem = None if output is None else stem_of(output)
    folder = None if output_dir is None else folder_of(output_dir)
    named = Named(asked.run or (), asked.rollouts or (), asked.inputs or (), stem, folder)
    from pipeline.options import ProfileOptions

    options = ProfileOptions(**asked.options(), partial=partial, counts=counts, min_completion=min_completion)
    profile_run(named, options, Console(as_json=as_json, quiet=asked.quiet))
