"""`rollprof inspect`: what is in these files."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.cli.asked import RunAsked
from pipeline.cli.console import Console
from pipeline.cli.spread import spread


@spread
def inspect(
    asked: RunAsked,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say what is in a run's files, without failing on any of it.

    Lines, fields and their types, repeats, agents, masks, faults of keys, and what lies beside the rollouts.
    """
    from pipeline.cli.opening import limit_threads

    limit_threads(asked.workers)
    from pipeline.cli.inspecting import inspect_run

    inspect_run(asked, Console(as_json=as_json, quiet=asked.quiet))
