"""`rollprof collect`, which is `rollprof eval run`: what can be asked of it."""

from __future__ import annotations

from pipeline.cli.collecting_asked import AskAsked, PlanAsked, ServeAsked
from pipeline.cli.console import Console
from pipeline.cli.spread import spread


@spread
def eval_run(plan: PlanAsked, ask: AskAsked, serve: ServeAsked) -> None:
    """Collect rollouts: start an environment, or go to one that runs, and ask its agents.

    Writes R.jsonl, R_materialized_inputs.jsonl and R_failures.jsonl.
    """
    from pipeline.cli.collecting import collect_run

    collect_run(plan, ask, serve, Console(as_json=ask.as_json, quiet=ask.quiet))
