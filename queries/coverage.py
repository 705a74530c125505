"""How much of what was planned can be used."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from pipeline import names
from pipeline.columns import by_columns, planned
from pipeline.groups import per_group
from pipeline.run import Run

VERDICTS = ("healthy", "unhealthy", "unobserved")


def coverage(run: Run, *, by: Sequence[str] = ()) -> pl.LazyFrame:
    """What each agent was to run and what can be used of it: missing, masked, unscored, truncated, verdicts.

    Over planned rollouts; with --by each group instead of each agent.

    Columns: `_agent` (String), or those of `by`; then counts (UInt32): `tasks`; `expected` planned rollouts, of them
    `finished` and `missing`; of the finished ones `masked`, `measured` (those that figures are over), `unscored`
    (measured, but without a reward), `truncated` (null where that was not read); `healthy`, `unhealthy`,
    `unobserved`, `other_verdict`, `no_verdict`: what a quality check said of the finished ones; these five add up.

    Args:
        run: What is asked about.
        by: Columns that make a group.

    Raises:
        UsageError: There is no column of `by`.
    """
    group = by_columns(run.rollouts, by) or ["_agent"]
    judged = planned(run)
    schema = judged.collect_schema()
    done, measured, verdict = pl.col("_finished"), pl.col("_measured"), pl.col("_verdict")
    unscored = measured & pl.col(names.REWARD).is_null() if names.REWARD in schema else measured
    truncated = (done & pl.col("_truncated")).sum() if "_truncated" in schema else pl.lit(None, pl.UInt32)
    return per_group(
        judged,
        group,
        tasks=pl.col(names.TASK).n_unique(),
        expected=pl.len(),
        finished=done.sum(),
        missing=(~done).sum(),
        masked=(done & pl.col("_masked")).sum(),
        measured=measured.sum(),
        unscored=unscored.sum(),
        truncated=truncated,
        **{name: (done & (verdict == name)).sum() for name in VERDICTS},
        other_verdict=(done & verdict.is_not_null() & ~verdict.is_in(VERDICTS)).sum(),
        no_verdict=(done & verdict.is_null()).sum(),
    )
