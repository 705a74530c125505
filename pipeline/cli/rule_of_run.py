"""The rule by which the rollouts of an opened run pass, and what there is to warn of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from pipeline.analysis.scoring import PassRule, partial_scores, voting
from pipeline.cli.rules import pass_rule, rules_file, warn_of_rule
from pipeline.frames.lazy import collect

if TYPE_CHECKING:
    from pipeline.cli.asked import RuleAsked
    from pipeline.cli.console import Console
    from pipeline.run import Run


def rule_of_run(run: Run, asked: RuleAsked, console: Console) -> tuple[PassRule, list[Path]]:
    """The rule that was asked for, and the file that it is from, if any; warns where passing is a matter of it.

    Raises:
        SourceError: The file of rules cannot be read.
        UsageError: It is no such file, a threshold is no number, or the run has no such score.
    """
    path = rules_file(asked, run.files)
    rule = pass_rule(asked, path, console)
    counts = collect(voting(run, rule).select(partial=partial_scores(), scored=pl.len()))
    agents = collect(run.aligned.frame.select(pl.col("_agent").unique(maintain_order=True)))["_agent"]
    partial, scored = counts.row(0)
    warn_of_rule(rule, agents.to_list(), partial=partial, scored=scored, console=console)
    return rule, [path] if path else []
