"""Pairs of tasks → how far each measure moved, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from pipeline.analysis.measures import Measure
from pipeline.analysis.pairing import SIDES, Pairs
from pipeline.clustered import clustered_means
from pipeline.frames.lazy import collect
from pipeline.groups import per_group
from pipeline.profile.expressions import column, finite
from pipeline.rounding import without_noise

FIGURES = ("tasks", "base", "candidate", "change", "se", "low_95", "high_95", "up", "down", "same")


def differences(pairs: Pairs, measure: Measure) -> pl.Series:
    """The change of a measure in each task that has it in both runs (Float64), by task; several agents' mean of one."""
    changed = _per_task(_changed(pairs.frame.lazy(), [measure]), [measure], by_agent=pairs.by_agent)
    return collect(changed.select(_change(measure).drop_nulls().alias("change")))["change"]


def changes(pairs: Pairs, measures: Sequence[Measure], group: Sequence[str] = ()) -> pl.DataFrame:
    """How far each measure moved, paired by task, each task with the same weight.

    With d the change of the mean of a task's rollouts, `change` is the mean of d over the tasks that have the measure
    in both runs; where the two means are equal but for rounding, d is 0. `se` is std(d) / √n and the interval
    change ± t(0.975, n - 1) · se, as `clustered_means` has them: the tasks are the clusters, so how many rollouts each
    has does not matter. Over all agents a task is the mean of its agents' pairs, so that no task counts twice.

    Source: the paired analysis of E. Miller, Adding Error Bars to Evals, arXiv 2411.00640, section 4.2.

    Args:
        pairs: As `paired` gives them.
        measures: What to look at.
        group: Columns of the pairs that make groups; `_agent` keeps agents apart.

    Returns:
        Rows by group, then in the order of the measures: `group`; `kind`, `measure` (String); `tasks` (UInt32);
        `base`, `candidate` (Float64, means over these tasks); `change`, `se`, `low_95`, `high_95` (Float64, se null
        for one task, the interval too where all changes are alike); `up`, `down`, `same` (UInt32): how many
        tasks went up, down, or neither. No row for a measure that no task of the group has in both runs.
    """
    rows = _per_task(
        _changed(pairs.frame.lazy(), measures), measures, group, by_agent=pairs.by_agent and "_agent" not in group
    )
    weighted = rows.with_columns(
        _change(one).is_not_null().cast(pl.Float64).alias(f"weight {one.column}") for one in measures
    )
    means = {str(place): (f"change {one.column}", f"weight {one.column}") for place, one in enumerate(measures)}
    spread = clustered_means(weighted, group, means=means).filter(pl.col("tasks") > 0)
    both = spread.join(
        _counted(weighted, measures, group),
        on=[*group, "mean"],
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    renamed = both.rename({"value": "change", "low": "low_95", "high": "high_95"})
    renamed = renamed.with_columns(without_noise(pl.col("change"), pl.col("base"), pl.col("candidate")).alias("change"))
    return collect(renamed.select(*map(column, group), "kind", "measure", *FIGURES))


WHAT = ("base", "candidate", "up", "down", "same")


def _change(measure: Measure) -> pl.Expr:
    return pl.col(f"change {measure.column}")


def _changed(pairs: pl.LazyFrame, measures: Sequence[Measure]) -> pl.LazyFrame:
    """Adds `change COLUMN`; one side's mean is null where the other's is."""
    changed = pairs.with_columns(
        _true_change(one, finite(pl.col(f"candidate {one.column}") - pl.col(f"base {one.column}"))) for one in measures
    )
    return changed.with_columns(
        pl.when(_change(one).is_not_null()).then(pl.col(f"{side} {one.column}")).alias(f"{side} {one.column}")
        for one in measures
        for side in SIDES
    )


def _true_change(measure: Measure, change: pl.Expr) -> pl.Expr:
    """A change of the means of both sides under its name, 0.0 where it is but rounding."""
    sides = [pl.col(f"{side} {measure.column}") for side in SIDES]
    return without_noise(change, *sides).alias(f"change {measure.column}")


def _per_task(
    rows: pl.LazyFrame, measures: Sequence[Measure], group: Sequence[str] = (), *, by_agent: bool
) -> pl.LazyFrame:
    """A task's pairs as one, the mean of them."""
    if not by_agent:
        return rows
    values = {
        f"{what} {one.column}": pl.col(f"{what} {one.column}").mean() for one in measures for what in (*SIDES, "change")
    }
    first = pl.col("_task").min()
    whole = per_group(rows, [*group, "_key"], **values, _task=first).sort("_task", maintain_order=True)
    return whole.with_columns(_true_change(one, _change(one)) for one in measures)


def _counted(rows: pl.LazyFrame, measures: Sequence[Measure], group: Sequence[str]) -> pl.LazyFrame:
    """The means of both sides, and how many tasks went which way: a row a group and measure, told by its place."""
    counted = per_group(rows, group, **_counts(measures))
    return pl.concat(
        counted.select(
            *map(column, group),
            *(pl.col(f"{place} {what}").alias(what) for what in WHAT),
            mean=pl.lit(str(place)),
            kind=pl.lit(one.kind),
            measure=pl.lit(one.name),
        )
        for place, one in enumerate(measures)
    )


def _counts(measures: Sequence[Measure]) -> dict[str, pl.Expr]:
    figures: dict[str, pl.Expr] = {}
    for place, one in enumerate(measures):
        change = _change(one)
        figures[f"{place} base"] = finite(pl.col(f"base {one.column}").mean())
        figures[f"{place} candidate"] = finite(pl.col(f"candidate {one.column}").mean())
        figures[f"{place} up"] = (change > 0).sum()
        figures[f"{place} down"] = (change < 0).sum()
        figures[f"{place} same"] = (change == 0).sum()
    return figures
