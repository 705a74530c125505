"""Tasks whose answers and scores do not go together: a wrong key, or a verifier that changes its mind."""

from __future__ import annotations

import polars as pl

from pipeline.analysis.suspects.listing import as_suspects, key_texts
from pipeline.analysis.tasks import by_task
from pipeline.groups import GROUP, per_group

ANSWER = [*GROUP, "_answer"]
WRONG_CHOICES = 3
"""How many wrong answers chance has to choose from: those of a question with four choices, the hardest to tell."""


def wrong_keys(votes: pl.LazyFrame, *, min_rollouts: int, min_share: float, max_chance: float) -> pl.LazyFrame:
    """Tasks that no rollout passes while most give the same answer: perhaps the key is wrong, not they.

    Few rollouts agree by chance, and a tempting wrong answer draws many: the bounds are there against the first, and
    against the second only a look helps. No answer is no answer: it counts as a rollout that does not agree.

    Columns: those of `as_suspects`: the answer, `count` rollouts with it of `of` that vote, and the `chance` that so
    many agree on any answer if each chose one of three at random.

    Args:
        votes: Rollouts as `scoring.voting` gives them, with `_answer` (String, null for none).
        min_rollouts: How many rollouts of a task and agent have to vote.
        min_share: The share of them that has to give the answer.
        max_chance: The chance at most that so many agree.
    """
    failing = _sizes(votes).filter(pl.col("_passes") == 0, pl.col("of") >= min_rollouts).drop("_passes")
    most = (
        _answers(votes)
        .join(failing, on=GROUP, nulls_equal=True, maintain_order="left")
        .sort(*GROUP, -pl.col("count").cast(pl.Int64), "_answer", nulls_last=True)
        .unique(GROUP, keep="first", maintain_order=True)
    )
    judged = most.with_columns(chance=agreement_chance(pl.col("count"), pl.col("of")))
    found = judged.filter(pl.col("count") / pl.col("of") >= min_share, pl.col("chance") <= max_chance)
    return as_suspects(found.rename({"_answer": "answer"}), pl.lit("wrong_key"))


def flaky_verifiers(votes: pl.LazyFrame, *, tolerance: float) -> pl.LazyFrame:
    """Tasks where the same answer has different scores: perhaps the verifier is not sure of itself.

    A score that also judges other things than the answer (length, format) differs rightly; `tolerance` is for that.

    Columns: those of `as_suspects`: the answer, `count` rollouts with it of `of` that vote, how many of them passed,
    their lowest and highest score.

    Args:
        votes: Rollouts as `scoring.voting` gives them, with `_answer` (String, null for none).
        tolerance: How much scores may differ and still be the same.
    """
    unsteady = _answers(votes).filter(pl.col("max_score") - pl.col("min_score") > tolerance)
    found = unsteady.join(_sizes(votes), on=GROUP, nulls_equal=True, maintain_order="left")
    return as_suspects(found.rename({"_answer": "answer"}), pl.lit("flaky_verifier"))


def agreement_chance(count: pl.Expr, of: pl.Expr) -> pl.Expr:
    """The chance (Float64) that `count` of `of` rollouts agree that each choose one of three answers at random.

    At most 3 · P(X >= count) for X ~ Binomial(of, 1/3), and 1: by Boole's inequality over the three answers, exact
    where more than half agree.
    """

    def chance(pair: pl.Series) -> pl.Series:
        import numpy as np
        from scipy.special import bdtrc

        agree, all_of_them = (pair.struct.field(name).to_numpy() for name in ("count", "of"))
        tail = bdtrc(agree - 1.0, all_of_them.astype(np.int64), 1 / WRONG_CHOICES)
        return pl.Series(np.minimum(1.0, WRONG_CHOICES * tail), dtype=pl.Float64)

    return pl.struct(count=count, of=of).map_batches(chance, return_dtype=pl.Float64, is_elementwise=True)


def _sizes(votes: pl.LazyFrame) -> pl.LazyFrame:
    """How many rollouts of each task vote, and how many of them pass."""
    return by_task(votes).select(*GROUP, of="rollouts", _passes="passed")


def _answers(votes: pl.LazyFrame) -> pl.LazyFrame:
    """Each answer that a task's rollouts give: how many give it, with which scores, and the first few of them."""
    given = votes.filter(pl.col("_answer").is_not_null()).sort("_ng_task_index", "_ng_rollout_index")
    return per_group(
        given.select(*ANSWER, "_ng_rollout_index", "_score", "_passed"),
        ANSWER,
        count=pl.len(),
        passed=pl.col("_passed").sum(),
        min_score=pl.col("_score").min(),
        max_score=pl.col("_score").max(),
        evidence=key_texts(),
    )
