"""`rollprof select`: a training set from a run."""

from __future__ import annotations

from pipeline.cli.asked import RuleAsked, RunAsked
from pipeline.cli.console import Console
from pipeline.cli.curating_asked import ChoiceAsked, DrawAsked, LinesAsked
from pipeline.cli.spread import spread


@spread
def select(asked: RunAsked, rule: RuleAsked, choice: ChoiceAsked, draw: DrawAsked, lines: LinesAsked) -> None:
    """Choose tasks for training by difficulty, signal, length and field; the lines can be collected again."""
    from pipeline.cli.opening import limit_threads

    limit_threads(asked.workers)
    from pipeline.cli.curating import curate, selection_of

    selection = selection_of(choice, draw, lines)
    curate(selection, lines, asked, rule, Console(as_json=lines.as_json, quiet=asked.quiet))
