"""Every reason to distrust a task, in one frame."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from pipeline.analysis.majority import answers
from pipeline.analysis.scoring import PassRule, voting
from pipeline.analysis.suspects.answering import flaky_verifiers, wrong_keys
from pipeline.analysis.suspects.listing import COLUMNS, REASONS, Reason, most_suspect_first
from pipeline.analysis.suspects.twins import twins
from pipeline.run import Run

ANSWER_FIELD = "extracted_answer"


class Bounds(BaseModel):
    """From where on a task is suspect.

    Attributes:
        min_rollouts: How many rollouts have to vote before none of them passing says anything.
        min_share: The share of them that has to give the same answer.
        max_chance: The chance at most that so many give the same answer if each chose one of three at random.
        tolerance: How much scores of the same answer may differ.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    min_rollouts: int = Field(default=4, ge=2)
    min_share: float = Field(default=0.5, gt=0, le=1)
    max_chance: float = Field(default=0.1, gt=0, le=1)
    tolerance: float = Field(default=0.0, ge=0)


def suspects(
    run: Run,
    rule: PassRule,
    *,
    bounds: Bounds | None = None,
    answer_field: str = ANSWER_FIELD,
    reasons: Sequence[Reason] = REASONS,
) -> pl.LazyFrame:
    """Tasks to distrust, the most suspect of each reason first.

    Columns: `_ng_task_index` (Int64), `_agent` (String, null where it is about the task), `reason` (Enum: `wrong_key`,
    `flaky_verifier`, `same_task`, `same_prompt`), `answer` (String), `count`, `of` (UInt32), `share` (Float64, count
    of of), `chance` (Float64, of a wrong key: that so many agree at random), `passed` (UInt32), `min_score`,
    `max_score` (Float64), `evidence` (List of String: up to ten `task:rollout`, or tasks). `suspects.answering` and
    `suspects.twins` say what is counted. Masked and unscored rollouts say nothing.

    Args:
        run: What is asked about.
        rule: When a rollout passes.
        bounds: From where on a task is suspect.
        answer_field: The field that holds the answer; where there is none, reasons that need one find nothing.
        reasons: Which of them are looked for.

    Raises:
        UsageError: There is no such column as the rule's score, or it holds no numbers.
    """
    limits = bounds or Bounds()
    votes = voting(run, rule)
    answer = answers(votes, answer_field)
    found = [pl.LazyFrame(schema=COLUMNS)]
    if answer is not None:
        answered = votes.with_columns(_answer=answer)
        if "wrong_key" in reasons:
            bounds_of_keys = limits.model_dump(exclude={"tolerance"})
            found.append(wrong_keys(answered, **bounds_of_keys))
        if "flaky_verifier" in reasons:
            found.append(flaky_verifiers(answered, tolerance=limits.tolerance))
    if {"same_task", "same_prompt"} & set(reasons):
        found.append(twins(run).filter(pl.col("reason").is_in(list(reasons))))
    return most_suspect_first(pl.concat(found))
