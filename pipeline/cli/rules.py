"""The rule by which rollouts pass, as options that commands share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.errors import UsageError

if TYPE_CHECKING:
    from pipeline.analysis.scoring import PassRule


@dataclass(frozen=True)
class RuleAsked:
    """When a rollout passes."""

    pass_threshold: Annotated[
        list[str] | None,
        typer.Option(help="X or AGENT=X: a rollout passes if its score is at least X; repeatable; else 1."),
    ] = None
    score: Annotated[str, typer.Option(help="The metric that is the score.")] = "reward"


def rule_of(asked: RuleAsked) -> PassRule:
    """The rule that was asked for.

    Raises:
        UsageError: A threshold is no number.
    """
    import math

    from pipeline.analysis.scoring import PassRule

    limits: dict[str, float] = {}
    for text in asked.pass_threshold or ():
        agent, _, number = text.rpartition("=")
        try:
            limit = float(number)
        except ValueError:
            limit = math.nan
        if not math.isfinite(limit):
            hint = "Write it like 0.5, or math_agent=0.5 for one agent."
            raise UsageError(f"--pass-threshold {text!r} is no number", hint=hint)
        limits[agent] = limit
    return PassRule(score=asked.score, threshold=limits.pop("", 1.0), agents=limits)
