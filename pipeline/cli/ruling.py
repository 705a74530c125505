"""The options that say which number is the score, and when a rollout passes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline import names
from pipeline.errors import UsageError

if TYPE_CHECKING:
    from pipeline.analysis.scoring import PassRule


@dataclass(frozen=True)
class RuleAsked:
    """Which number is the score, and when a rollout passes."""

    score: Annotated[str, typer.Option(help="Metric that is judged.")] = names.REWARD
    pass_threshold: Annotated[
        list[str] | None,
        typer.Option(help="X or AGENT=X: a rollout passes with a score of at least X, else 1; repeatable."),
    ] = None


def rule_of(asked: RuleAsked) -> PassRule:
    """The rule that was asked for.

    Raises:
        UsageError: A threshold is no number.
    """
    from pipeline.analysis.scoring import PassRule

    threshold, agents = 1.0, {}
    for text in asked.pass_threshold or ():
        agent, equals, limit = text.rpartition("=")
        if equals:
            agents[agent] = _number(limit, text)
        else:
            threshold = _number(text, text)
    return PassRule(score=asked.score, threshold=threshold, agents=agents)


def _number(text: str, given: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UsageError(f"--pass-threshold {given!r} is no number", hint="Write it like 0.5 or math_agent=0.5.")
    return value
