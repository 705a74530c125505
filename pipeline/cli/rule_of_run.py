"""The rule by which the rollouts of opened runs pass, and what there is to warn of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from pipeline import names
from pipeline.analysis.plain import plain_number
from pipeline.analysis.scoring import PassRule, partial_scores, voting
from pipeline.cli.asked import RuleAsked
from pipeline.cli.console import Console
from pipeline.cli.rules import pass_rule, rules_file, thresholds, warn_of_rule
from pipeline.errors import UsageError
from pipeline.frames.lazy import collect

if TYPE_CHECKING:
    from pipeline.run import Run


def rule_of_run(run: Run, asked: RuleAsked, console: Console) -> tuple[PassRule, list[Path]]:
    """The rule that was asked for, and the file that it is from, if any; warns where passing is a matter of it.

    Raises:
        SourceError: The file of rules cannot be read.
        UsageError: It is no such file, a threshold is no number, or the run has no such score.
    """
    path = rules_file(asked, run.files)
    rule = pass_rule(asked, path, console)
    _warn([run], rule, asked, console)
    return rule, [path] if path else []


def threshold_of_run(run: Run, console: Console) -> tuple[float, list[Path]]:
    """The reward from which on a rollout passes where one threshold is all that is asked, by the run's file of rules.

    Args:
        run: The run.
        console: Where to say that there is a file, and to warn of what it says beside that.

    Returns:
        The threshold, which is 1.0 without a file, and the file, if any.

    Raises:
        SourceError: The file cannot be read.
        UsageError: It is no file of rules.
    """
    path = rules_file(RuleAsked(), run.files)
    if path is None:
        return PassRule().threshold, []
    rule = pass_rule(RuleAsked(), path, console)
    if rule.score != names.REWARD:
        console.warn(f"{names.shown(path)} says {rule}, but this judges the reward: a rollout passes if reward >= 1")
        return PassRule().threshold, [path]
    if rule.agents:
        console.warn(f"{names.shown(path)} has thresholds of single agents, which do not count here")
    console.say(f"threshold={plain_number(rule.threshold)}, as these rules say (-p threshold=X for another)")
    return rule.threshold, [path]


def rule_of_runs(
    words: Sequence[str], runs: Sequence[Run], asked: RuleAsked, console: Console
) -> tuple[PassRule, list[Path]]:
    """The rule of several runs, which is that of the first; warns as `rule_of_run`, and where a run has another.

    Args:
        words: What the user calls the runs.
        runs: The runs.
        asked: The options.
        console: Where to warn.

    Raises:
        SourceError: A file of rules cannot be read.
        UsageError: It is no such file, a threshold is no number, or a run, which is named, has no such score.
    """
    path = rules_file(asked, runs[0].files)
    rule = pass_rule(asked, path, console)
    for word, run in zip(words, runs, strict=True):
        own = pass_rule(asked, rules_file(asked, run.files), Console(quiet=True))
        if own != rule:
            console.warn(f"{names.shown(word)} has rules of its own ({own}), which do not count here")
        try:
            voting(run, rule)
        except UsageError as error:
            raise UsageError(error.message, where=names.shown(word), hint=error.hint) from None
    _warn(runs, rule, asked, console)
    return rule, [path] if path else []


def _warn(runs: Sequence[Run], rule: PassRule, asked: RuleAsked, console: Console) -> None:
    """Warns of what the rule decides, and refuses a threshold that was given for an agent which no run has."""
    counted = [collect(voting(run, rule).select(partial_scores(), scored=pl.len())).row(0) for run in runs]
    known = [collect(run.aligned.frame.select(pl.col("_agent").unique(maintain_order=True)))["_agent"] for run in runs]
    partial, scored = map(sum, zip(*counted, strict=True))
    agents = list(dict.fromkeys(agent for of_run in known for agent in of_run))
    for agent in thresholds(asked)[1]:
        if agents and agent not in agents:
            there = ", ".join(name for name in agents if name is not None) or "none"
            raise UsageError(f"--pass-threshold {agent}=…: no agent is called so", hint=f"There are {there}.")
    warn_of_rule(rule, agents, partial=partial, scored=scored, console=console)
