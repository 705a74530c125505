"""Tasks and rollouts that pass in one run and fail in the other."""

from __future__ import annotations

import polars as pl

from pipeline import names
from pipeline.analysis.measures import PASSES, SCORE
from pipeline.analysis.pairing import SIDES

LOST, GAINED = "pass to fail", "fail to pass"
STATES = {(True, False): LOST, (False, True): GAINED, (True, True): "pass in both", (False, False): "fail in both"}
MOST = 0.5


def task_flips(pairs: pl.DataFrame) -> pl.DataFrame:
    """Tasks that most rollouts passed in one run, and not in the other.

    Args:
        pairs: As `paired` gives them.

    Returns:
        Those that no longer pass first, then by how far their share of passes moved, then by task: `flip` (String),
        `task`, `candidate_task` (Int64), `agent` (String); `base_passed`, `base_rollouts`, `candidate_passed`,
        `candidate_rollouts` (Int64): how many rollouts have a score, and how many of them pass.
    """
    shares = {side: pl.col(f"{side} {PASSES}") for side in SIDES}
    counts = {side: pl.col(f"{side} count {PASSES}").cast(pl.Int64) for side in SIDES}
    figures = {}
    for side in SIDES:
        figures[f"{side}_passed"] = (shares[side] * counts[side]).round().cast(pl.Int64)
        figures[f"{side}_rollouts"] = counts[side]
    flipped = pairs.filter((shares["base"] > MOST) != (shares["candidate"] > MOST)).select(
        _flip(shares["base"] > MOST),
        task="_task",
        candidate_task="_candidate_task",
        agent="_agent",
        _far=-(shares["candidate"] - shares["base"]).abs(),
        **figures,
    )
    return flipped.sort(pl.col("flip") != LOST, "_far", "task", "agent", maintain_order=True).drop("_far")


def rollout_flips(rollouts: pl.DataFrame) -> pl.DataFrame:
    """Rollouts that pass under one scoring and fail under the other.

    Args:
        rollouts: As `same_rollouts` gives them.

    Returns:
        Those that no longer pass first, then by key: `flip` (String), `task`, `rollout` (Int64), `agent` (String),
        `base_score`, `candidate_score` (Float64).
    """
    mine, theirs = (pl.col(f"{side} {PASSES}") == 1.0 for side in SIDES)
    there = pl.all_horizontal(pl.col(f"{side} {PASSES}").is_not_null() for side in SIDES)
    return (
        rollouts.filter(there & (mine != theirs))
        .select(
            _flip(mine),
            task=names.TASK,
            rollout=names.ROLLOUT,
            agent="_agent",
            base_score=f"base {SCORE}",
            candidate_score=f"candidate {SCORE}",
        )
        .sort(pl.col("flip") != LOST, "task", "rollout", maintain_order=True)
    )


def states(rows: pl.DataFrame) -> dict[str, int]:
    """How many tasks or rollouts passed in one run only, in both, or in neither; those scored in both count.

    Args:
        rows: Pairs of tasks or of rollouts.
    """
    passed = [rows[f"{side} {PASSES}"] > MOST for side in SIDES]
    found = pl.DataFrame(dict(zip(SIDES, passed, strict=True))).drop_nulls().group_by(SIDES).len()
    counts = {(mine, theirs): count for mine, theirs, count in found.iter_rows()}
    return {name: counts.get(state, 0) for state, name in STATES.items()}


def _flip(passed_before: pl.Expr) -> pl.Expr:
    return pl.when(passed_before).then(pl.lit(LOST)).otherwise(pl.lit(GAINED)).alias("flip")
