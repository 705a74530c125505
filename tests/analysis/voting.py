"""Votes of small runs, and slow figures of them."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from pipeline.analysis.tasks import by_task

Scores = Sequence[Sequence[float]]


def votes_of(tasks: Scores, *, threshold: float = 1.0, agent: str = "a") -> pl.LazyFrame:
    """Voting rollouts: the scores of each task."""
    rows: list[dict[str, Any]] = [
        {
            "_ng_task_index": task,
            "_ng_rollout_index": index,
            "_agent": agent,
            "_score": float(score),
            "_passed": score >= threshold,
        }
        for task, scores in enumerate(tasks)
        for index, score in enumerate(scores)
    ]
    types = {"_ng_task_index": pl.Int64, "_ng_rollout_index": pl.Int64, "_agent": pl.String, "_score": pl.Float64}
    return pl.LazyFrame(rows, schema={**types, "_passed": pl.Boolean})


def tasks_of(tasks: Scores, *, threshold: float = 1.0) -> pl.LazyFrame:
    """What `by_task` makes of the scores of each task."""
    return by_task(votes_of(tasks, threshold=threshold), ["_agent"])
