"""Groups that teach nothing, because their rollouts have the same reward."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from pipeline import names
from pipeline.columns import by_columns, measured
from pipeline.errors import UsageError
from pipeline.groups import need_apart, number, per_group, together, within
from pipeline.profile.expressions import column
from pipeline.run import Run

RULES = ("exact", "within_tolerance")
LISTED = ("kind", "exact", "spread", "min_reward", "max_reward", "mean_reward", "rollouts")
COUNTED = (*RULES, *(f"share_{rule}" for rule in RULES), "groups", "too_small")
KINDS = ("all_pass", "all_fail", "other", "any")


def zero_signal(
    run: Run,
    *,
    metrics: Sequence[str] = (names.REWARD,),
    threshold: float = 1.0,
    failed: float = 0.0,
    tolerance: float = 0.0,
    min_rollouts: int = 2,
    summary: bool = False,
    by: Sequence[str] = (),
) -> pl.LazyFrame:
    """Groups (a task by an agent) whose rewards do not differ; with summary=true their shares by kind.

    A group has no signal if max - min <= tolerance for each of the metrics. Over groups of at least `min_rollouts`
    scored rollouts with a number in any of the metrics. With `by` the groups are a task by an agent within each group
    of other columns, and the summary is of each of these.

    Columns: those of `by`; `_ng_task_index`, `_agent`; `kind` (String): `all_pass` (every reward >= threshold),
    `all_fail` (every reward <= failed), else `other`; `exact` (Boolean): max = min; `spread` (Float64): the widest
    max - min; `min_reward`, `max_reward`, `mean_reward` (Float64); `rollouts` (UInt32).
    With `summary`, a row a kind and one for `any`: those of `by`; `kind`; `exact`, `within_tolerance` (UInt32):
    groups without signal; `share_exact`, `share_within_tolerance` (Float64): of all groups; `groups` (UInt32): all
    groups; `too_small` (UInt32): groups that were left out for want of rollouts.

    Args:
        run: What is asked about.
        metrics: What must not differ, such as the components of a reward.
        threshold: The reward from which on a rollout passes.
        failed: The reward up to which a rollout is all wrong.
        tolerance: How much rewards may differ and still count as the same.
        min_rollouts: How many rollouts a group needs.
        summary: Whether to count instead of listing.
        by: Columns that make a group; the answer is sorted by them first.

    Raises:
        UsageError: There is no such column, no metric, or the tolerance is below 0.
    """
    if not tolerance >= 0:
        raise UsageError(f"tolerance={tolerance} is no tolerance", hint="It is 0 or more.")
    if not metrics:
        raise UsageError("no metric that could differ", hint="metrics=reward is the default.")
    rollouts = measured(run, names.REWARD, *metrics).filter(
        pl.col(names.REWARD).is_not_null() & pl.any_horizontal(column(name).is_not_null() for name in metrics)
    )
    group = by_columns(rollouts, by)
    need_apart(group, (*LISTED, *COUNTED))
    groups = _groups(rollouts, within(group), metrics, threshold, failed).with_columns(
        within_tolerance=pl.col("exact") | (pl.col("spread") <= tolerance)
    )
    if summary:
        return _counted(groups, group, min_rollouts)
    listed = groups.filter(pl.col("rollouts") >= min_rollouts, "within_tolerance")
    return listed.select(*map(column, within(group)), *LISTED)


def _groups(
    rollouts: pl.LazyFrame, cells: Sequence[str], metrics: Sequence[str], threshold: float, failed: float
) -> pl.LazyFrame:
    low, high = pl.col(names.REWARD).min(), pl.col(names.REWARD).max()
    right, wrong = low >= threshold, high <= failed
    kind = pl.when(right).then(pl.lit(KINDS[0])).when(wrong).then(pl.lit(KINDS[1])).otherwise(pl.lit(KINDS[2]))
    same = [(column(name).max() == column(name).min()).fill_null(value=True) for name in metrics]
    return per_group(
        rollouts,
        cells,
        kind=kind,
        exact=pl.all_horizontal(same),
        spread=pl.max_horizontal(number(name).max() - number(name).min() for name in metrics),
        min_reward=low,
        max_reward=high,
        mean_reward=pl.col(names.REWARD).mean().clip(low, high),
        rollouts=pl.len(),
    )


def _counted(groups: pl.LazyFrame, by: Sequence[str], min_rollouts: int) -> pl.LazyFrame:
    """Counts and shares of each kind; every kind has a row, in each group of other columns."""
    enough, kind = pl.col("rollouts") >= min_rollouts, pl.col("kind")
    rows = []
    for name in KINDS:
        counts = {rule: (enough & pl.col(rule) & ((kind == name) | (name == "any"))).sum() for rule in RULES}
        shares = {f"share_{rule}": pl.when(enough.any()).then(count / enough.sum()) for rule, count in counts.items()}
        beside = {"groups": enough.sum(), "too_small": (~enough).sum()}
        figures = {**counts, **shares, **beside}
        counted = per_group(groups, by, **figures) if by else groups.select(**figures)
        rows.append(counted.select(*map(column, by), pl.lit(name).alias("kind"), *figures))
    return together(pl.concat(rows), by)
