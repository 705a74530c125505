"""Which rollouts vote, with which score, and which of them pass: the rule behind every figure on passing."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from pipeline import names
from pipeline.analysis.plain import plain_number
from pipeline.columns import measured
from pipeline.groups import number
from pipeline.run import Run


class PassRule(BaseModel):
    """When a rollout passes.

    Attributes:
        score: The metric that is judged.
        threshold: The score from which on a rollout passes.
        agents: Thresholds of single agents, which come first.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    score: str = names.REWARD
    threshold: FiniteFloat = 1.0
    agents: Mapping[str, FiniteFloat] = Field(default_factory=dict)

    def __str__(self) -> str:
        """The rule in words, as it is printed beside every figure that rests on it."""
        own = "".join(
            f", {agent}: {self.score} >= {plain_number(limit)}" for agent, limit in sorted(self.agents.items())
        )
        return f"{self.score} >= {plain_number(self.threshold)}{own}"

    def limit(self) -> pl.Expr:
        """The score from which on a rollout of a row's `_agent` passes (Float64)."""
        default = pl.lit(self.threshold, pl.Float64)
        if not self.agents:
            return default
        return pl.col("_agent").cast(pl.String).replace_strict(dict(self.agents), default=default).cast(pl.Float64)


def voting(run: Run, rule: PassRule, *metrics: str) -> pl.LazyFrame:
    """The rollouts that vote: measured ones with a score; masked and unscored ones never do.

    Columns: those of `Run.rollouts`, then `_score` (Float64) and `_passed` (Boolean: `_score` >= the rule's limit).

    Args:
        run: What is asked about.
        rule: Which metric is the score, and when it passes.
        metrics: Metrics that the caller needs as well; rollouts without them vote all the same.

    Raises:
        UsageError: There is no such column, or it holds no numbers.
    """
    rollouts = measured(run, rule.score, *metrics)
    scored = rollouts.with_columns(_score=number(rule.score)).filter(pl.col("_score").is_not_null())
    return scored.with_columns(_passed=pl.col("_score") >= rule.limit())


def partial_scores() -> pl.Expr:
    """How many voting rollouts have a score other than 0 and 1, of which passing is a matter of the rule (UInt32)."""
    return (~pl.col("_score").is_in([0.0, 1.0])).sum()
