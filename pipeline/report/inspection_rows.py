"""Usable rows → how often tasks were repeated, who ran them, and what is odd about them."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from pipeline import names
from pipeline.sources.plans import ODD_RESPONSE, TEXT_REWARD

WHO = ("_agent", "_server")
FLAGS = {
    "masked": pl.col("_masked"),
    "text_reward": pl.col("_flags") & TEXT_REWARD > 0,
    "odd_response": pl.col("_flags") & ODD_RESPONSE > 0,
    "not_finite": pl.col("_unfinite") > 0,
    "no_agent": pl.col("_agent").is_null() & pl.col("_server").is_null(),
}


@dataclass(frozen=True)
class Agent:
    """Rows that name the same agent and environment server.

    Attributes:
        agent: The agent; None for rows without one.
        server: The environment server; None for rows without one.
        planned: Input rows.
        finished: Rollouts.
        masked: Rollouts that are masked.
        tasks: Tasks of either.
    """

    agent: str | None
    server: str | None
    planned: int
    finished: int
    masked: int
    tasks: int


@dataclass(frozen=True)
class Flagged:
    """Rollouts that something is to be known of.

    Attributes:
        flag: masked, text_reward, odd_response (or usage: it is no object), not_finite (a number), no_agent.
        rollouts: How many.
        first: The first of them, as `file:line`.
    """

    flag: str
    rollouts: int
    first: str | None


def repeats_of(rows: pl.DataFrame, planned: pl.DataFrame) -> dict[int, int]:
    """Rollouts of a task → how many tasks have so many; a key counts once.

    Args:
        rows: The rollouts.
        planned: Rows whose tasks count too, be it with no rollout.
    """
    of_tasks = rows.select(names.KEY).unique().group_by(names.TASK).agg(repeats=pl.len())
    without = planned.select(names.TASK).unique().join(of_tasks, on=names.TASK, how="anti")
    counts = of_tasks.group_by("repeats").len().sort("repeats")
    return ({0: len(without)} if len(without) else {}) | dict(counts.iter_rows())


def agents_of(planned: pl.DataFrame, finished: pl.DataFrame) -> tuple[Agent, ...]:
    """Who the rows themselves name.

    Args:
        planned: As `scan_inputs` gives them, usable ones.
        finished: As `scan_rollouts` gives them, usable ones.
    """
    columns = (*WHO, names.TASK)
    both = pl.concat(
        [
            planned.select(*columns, planned=True, masked=False),
            finished.select(*columns, planned=False, masked=pl.col("_masked").fill_null(value=False)),
        ]
    )
    counts = both.group_by(WHO).agg(
        planned=pl.col("planned").sum(),
        finished=(~pl.col("planned")).sum(),
        masked=pl.col("masked").sum(),
        tasks=pl.col(names.TASK).n_unique(),
    )
    return tuple(Agent(*row) for row in counts.sort(WHO, nulls_last=True).iter_rows())


def flagged(finished: pl.DataFrame) -> tuple[Flagged, ...]:
    """Rollouts by what is to be known of them.

    Args:
        finished: As `scan_rollouts` gives them, usable ones.
    """
    found = []
    for name, which in FLAGS.items():
        rows = finished.filter(which.fill_null(value=False))
        first = rows.sort("_file", "_line").select("_source", "_line").head(1).rows()
        found.append(Flagged(name, len(rows), f"{first[0][0]}:{first[0][1]}" if first else None))
    return tuple(found)
