"""A curriculum: tasks cut into stages that go from easy to hard, each with a mix around its difficulty."""

from __future__ import annotations

import polars as pl

from pipeline.analysis.sampling import lots
from pipeline.profile.expressions import column

STAGE = "_stage"


def staged(tasks: pl.DataFrame, stages: int, *, seed: int, domain: str | None = None) -> pl.DataFrame:
    """The tasks with the stage that each belongs to; every task is in exactly one.

    In each domain, the range of pass rates is cut into as many equal parts as there are stages. A stage draws without
    replacement among the tasks that are left, with the weight exp(-((p - m) / w)^2 / 2) for a pass rate p, where m is
    the middle of its part, the easiest first, and w the width of a part; the last one takes the rest. Drawing is by
    the largest log weight + Gumbel noise (Efraimidis, Spirakis 2006; Kool, van Hoof, Welling 2019). Stages have the
    same number of tasks; what remains goes to the first ones, one each.

    Args:
        tasks: Rows with `_ng_task_index`, `_agent` and `pass_rate`.
        stages: How many stages.
        seed: Gives other draws.
        domain: The column that makes the domains; tasks without a value are one of them.

    Returns:
        The tasks in their order, then `_stage` (Int64, from 1).
    """
    rows = tasks.with_row_index("_row")
    domains = rows.partition_by(domain, maintain_order=True) if domain else [rows]
    found = [_staged(of_domain, stages, seed=seed) for of_domain in domains if len(of_domain)]
    blank = rows.clear().with_columns(pl.lit(None, pl.Int64).alias(STAGE))
    return pl.concat([blank, *found]).sort("_row").drop("_row")


def stage_weights(tasks: pl.DataFrame, stages: int, stage: int) -> pl.Series:
    """The logarithm of each task's weight in a stage (Float64), whose numbers begin with 0; 0.0 where all are alike."""
    rate = tasks["pass_rate"]
    low, high = (float(end) for end in tasks.select(low=rate.min(), high=rate.max()).row(0))
    width = (high - low) / stages
    if width == 0:
        return pl.Series([0.0] * len(tasks), dtype=pl.Float64)
    return -(((rate - (high - width * (stage + 0.5))) / width) ** 2) / 2


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


def _staged(tasks: pl.DataFrame, stages: int, *, seed: int) -> pl.DataFrame:
    """The tasks of one domain with their stages."""
    each, more = divmod(len(tasks), stages)
    weights = [stage_weights(tasks, stages, stage) for stage in range(stages)]
    left, found = tasks.with_columns(pl.Series(f"weight {n}", weight) for n, weight in enumerate(weights)), []
    for stage in range(stages):
        noise = -(-lots(left, seed=seed, purpose=f"stage {stage}").log()).log()
        rank = (left[f"weight {stage}"] + noise).rank("ordinal", descending=True)
        is_drawn = rank <= each + (stage < more)
        found.append(
            left.filter(is_drawn).select(*map(column, tasks.columns), pl.lit(stage + 1, pl.Int64).alias(STAGE))
        )
        left = left.filter(~is_drawn)
    return pl.concat(found)
