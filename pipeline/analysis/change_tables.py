"""The changes of every measure in one table, and what the change of the score is of in another."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import polars.selectors as cs

from pipeline.analysis.changes import FIGURES, changes
from pipeline.analysis.measures import LOST_AS_ZERO, SCORE, UNTROUBLED, Measure
from pipeline.analysis.pairing import Pairs
from pipeline.groups import aliases
from pipeline.profile.expressions import column, finite

AGENT = "agent"
ALL = "all"
INFRASTRUCTURE = {
    SCORE: "scored_change",
    LOST_AS_ZERO: "lost_as_zero_change",
    UNTROUBLED: "untroubled_change",
}
TAKEN = ("scope", AGENT, "kind", "measure", *FIGURES, *INFRASTRUCTURE.values(), "by_lost", "by_troubled")
"""Names that the columns that make groups may not have."""


def tables_of_changes(pairs: Pairs, measures: Sequence[Measure], by: Sequence[str]) -> pl.DataFrame:
    """The changes overall, by agent where there are several, and by the columns asked for.

    Args:
        pairs: As `paired` gives them, with the columns asked for under the names that `aliases` gives them.
        measures: What to look at.
        by: The columns asked for.

    Returns:
        `scope` (all, agent or group), `agent` (String), `by`, then what `changes` gives; figures are finite or null.
    """
    groups: dict[str, list[str]] = {ALL: []}
    if pairs.frame["_agent"].n_unique() > 1:
        groups["agent"] = ["_agent"]
    if by:
        groups["group"] = aliases(by)
    own = dict(zip(aliases(by), by, strict=True)) | {"_agent": AGENT}
    tables = [
        changes(pairs, measures, group).rename(own, strict=False).select(pl.lit(scope).alias("scope"), pl.all())
        for scope, group in groups.items()
    ]
    whole = pl.concat(tables, how="diagonal_relaxed")
    missing = {AGENT: pl.String} if AGENT not in whole.columns else {}
    added = whole.with_columns(pl.lit(None, dtype).alias(name) for name, dtype in missing.items())
    about = _about(by)
    ordered = [*about, *(name for name in added.columns if name not in about)]
    return _finite(added.select(map(column, ordered)))


def _finite(table: pl.DataFrame) -> pl.DataFrame:
    """The table without the figures that are beyond doubles."""
    return table.with_columns(finite(cs.float()).name.keep())


def _about(by: Sequence[str]) -> list[str]:
    """The columns that a row of the tables is told by."""
    return ["scope", AGENT, *by]


def infrastructure(changed: pl.DataFrame, measures: Sequence[Measure], by: Sequence[str]) -> pl.DataFrame:
    """What the change of the score is of, for each group.

    With lost rollouts (missing, masked, unscored) as 0, the change is that of the scored ones and a rest, `by_lost`:
    what was lost. The change of the scored ones is that of those without trouble and a rest, `by_troubled`: what
    was truncated or unhealthy.

    Args:
        changed: As `tables_of_changes` gives it.
        measures: What was looked at.
        by: The columns asked for.

    Returns:
        A row a group: `scope`, `agent` (String), `by`; `scored_change`, `lost_as_zero_change`, `untroubled_change`,
        `by_lost`, `by_troubled` and for each share `NAME_change` (Float64), null where nothing can be said.
    """
    about = _about(by)
    groups = changed.select(map(column, about)).unique(maintain_order=True)
    figures = {one: INFRASTRUCTURE[one.column] for one in measures if one.column in INFRASTRUCTURE}
    figures |= {one: f"{one.name}_change" for one in measures if one.kind == "share"}
    for one, figure in figures.items():
        rows = changed.filter(kind=one.kind, measure=one.name).select(
            *map(column, about), pl.col("change").alias(figure)
        )
        groups = groups.join(rows, on=about, how="left", nulls_equal=True, maintain_order="left")
    by_lost = pl.col("lost_as_zero_change") - pl.col("scored_change")
    by_troubled = pl.col("scored_change") - pl.col("untroubled_change")
    whole = groups.with_columns(by_lost=by_lost, by_troubled=by_troubled)
    shares = [figure for one, figure in figures.items() if one.kind == "share"]
    ordered = [*about, *INFRASTRUCTURE.values(), "by_lost", "by_troubled", *shares]
    return _finite(whole.select(map(column, ordered)))
