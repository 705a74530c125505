"""A curriculum: tasks cut into stages that go from easy to hard, each with a mix around its difficulty."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from pipeline.analysis.sampling import lots
from pipeline.profile.expressions import column

STAGE = "_stage"


def staged(tasks: pl.DataFrame, stages: int, *, seed: int, domain: str | None = None) -> pl.DataFrame:
    """The tasks with the stage that each belongs to; every task is in exactly one.

    In each domain, the range of pass rates is cut into as many equal parts as there are stages. The weight of a task
    with pass rate p in a stage is exp(-((p - m) / w)^2 / 2), where m is the middle of the stage's part, the easiest
    first, and w half the width of a part. A task draws its stage with the chance weight / sum of its weights, as
    long as there is room. Stages have the same number of tasks, and so has each domain in every stage, but for what
    remains: domain by domain, by value, it goes to the stages with the fewest tasks so far, the first ones first.
    Drawing is by the largest log chance + Gumbel noise over all tasks and stages that have room (C. J. Maddison,
    D. Tarlow and T. Minka, A* Sampling, 2014, section 2).

    Args:
        tasks: Rows with `_ng_task_index`, `_agent` and `pass_rate`.
        stages: How many stages.
        seed: Gives other draws.
        domain: The column that makes the domains; tasks without a value are one of them.

    Returns:
        The tasks in their order, then `_stage` (Int64, from 1).
    """
    rows = tasks.with_row_index("_row")
    by_value = rows.sort(column(domain), nulls_last=True, maintain_order=True) if domain else rows
    domains = by_value.partition_by(domain, maintain_order=True) if domain else [rows]
    rooms = _rooms([len(of_domain) for of_domain in domains], stages)
    found = [
        _staged(of_domain, room, seed=seed) for of_domain, room in zip(domains, rooms, strict=True) if len(of_domain)
    ]
    blank = rows.clear().with_columns(pl.lit(None, pl.Int64).alias(STAGE))
    return pl.concat([blank, *found]).sort("_row").drop("_row")


def log_weights(tasks: pl.DataFrame, stages: int) -> list[pl.Series]:
    """The logarithm of each task's weight in each stage (Float64); 0.0 where all pass rates are alike."""
    rate = tasks["pass_rate"]
    low, high = (float(end) for end in tasks.select(low=rate.min(), high=rate.max()).row(0))
    width = (high - low) / stages
    if width == 0:
        return [pl.Series([0.0] * len(tasks), dtype=pl.Float64)] * stages
    return [-(((rate - (high - width * (stage + 0.5))) / (width / 2)) ** 2) / 2 for stage in range(stages)]


def summary(tasks: pl.DataFrame, domain: str | None = None) -> pl.DataFrame:
    """What each stage holds.

    Columns: `stage` (Int64), `domain` (String, null without one), `tasks` (Int64), `mean_pass_rate` (Float64).
    """
    value = column(domain) if domain else pl.lit(None, pl.String)
    return (
        tasks.select(pl.col(STAGE).alias("stage"), value.alias("domain"), "pass_rate")
        .sort("stage", "domain", "pass_rate", nulls_last=True)
        .group_by("stage", "domain", maintain_order=True)
        .agg(tasks=pl.len().cast(pl.Int64), mean_pass_rate=pl.col("pass_rate").mean())
    )


def _rooms(sizes: Sequence[int], stages: int) -> list[list[int]]:
    """How many tasks of each domain every stage takes, so that stages differ by one task at most."""
    totals = [0] * stages
    rooms = []
    for size in sizes:
        each, more = divmod(size, stages)
        fewest = sorted(range(stages), key=lambda stage: totals[stage])[:more]
        rooms.append([each + (stage in fewest) for stage in range(stages)])
        totals = [total + room for total, room in zip(totals, rooms[-1], strict=True)]
    return rooms


def _staged(tasks: pl.DataFrame, room: Sequence[int], *, seed: int) -> pl.DataFrame:
    """The tasks of one domain with their stages.

    Args:
        tasks: Of the domain.
        room: How many of them each stage takes.
        seed: Gives other draws.
    """
    import numpy as np

    stages, room = len(room), list(room)
    logs = np.column_stack([weights.to_numpy() for weights in log_weights(tasks, stages)])
    noise = [-(-lots(tasks, seed=seed, purpose=f"stage {stage}").log()).log() for stage in range(stages)]
    keys = logs - np.logaddexp.reduce(logs, axis=1, keepdims=True) + np.column_stack([one.to_numpy() for one in noise])
    order = np.argsort(-keys, axis=None, kind="stable")
    found = [0] * len(tasks)
    for row, stage in zip(*(places.tolist() for places in np.divmod(order, stages)), strict=True):
        if not found[row] and room[stage]:
            found[row] = stage + 1
            room[stage] -= 1
    return tasks.with_columns(pl.Series(STAGE, found, dtype=pl.Int64))
