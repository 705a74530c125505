"""How far a mean may be off, beside what is clustered by task: resampled over tasks, and across repeats."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from pipeline import names
from pipeline.analysis.resampling import resampled_means
from pipeline.clustered import MEAN, Means, with_limits
from pipeline.groups import number, per_group, together
from pipeline.profile.expressions import column

CLUSTERED = "clustered by task (t)"
BOOTSTRAP = "bootstrap over tasks"
REPEATS = "across repeats (t)"

LIMITS = {"low": pl.Float64(), "high": pl.Float64()}


def bootstrap_means(
    tasks: pl.LazyFrame,
    by: Sequence[str] = (),
    *,
    means: Means = MEAN,
    confidence: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> pl.LazyFrame:
    """Percentile intervals of means from tasks that are drawn again with replacement.

    Each draw takes as many tasks as there are in the group, with all of their rollouts; the interval is between the
    quantiles (1 ∓ confidence) / 2 of the ratios of sums. Draws are seeded, anew for each group, over tasks by index.

    Source: B. Efron and R. J. Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13 (percentile interval);
    A. C. Davison and D. V. Hinkley, Bootstrap Methods and their Application, 1997, section 3.8 (whole clusters).

    Args:
        tasks: As for `clustered_means`, with `_ng_task_index`.
        by: Columns that make a group.
        means: What to work out.
        confidence: How much of the distribution an interval covers.
        draws: How often to draw.
        seed: What the generator PCG64 starts from.

    Returns:
        Rows by group, then in the order of `means`: `by`; `mean` (String); `low`, `high` (Float64), null for fewer
        than two tasks with a weight, and where no draw differs.
    """
    sums = list(dict.fromkeys(name for pair in means.values() for name in pair))
    upper = (1 + confidence) / 2

    def drawn(rows: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        found = pl.Schema({**{name: schema[name] for name in by}, "mean": pl.String(), **LIMITS})

        def of_groups(frame: pl.DataFrame) -> pl.DataFrame:
            groups = frame.partition_by(by, maintain_order=True) if by else [frame]
            parts = [
                _of_group(one, by, means=means, sums=sums, upper=upper, draws=draws, seed=seed)
                for one in groups
                if len(one)
            ]
            return pl.concat([pl.DataFrame(schema=found), *parts])

        return rows.map_batches(of_groups, schema=found)

    keyed = together(tasks, [*by, names.TASK])
    wanted = [column(name) for name in by] + [number(name).fill_null(0.0) for name in sums]
    return keyed.select(wanted).pipe_with_schema(drawn)


def across_repeats(
    rollouts: pl.LazyFrame, by: Sequence[str] = (), *, value: str, confidence: float = 0.95
) -> pl.LazyFrame:
    """The mean of the means at each rollout index, and their t interval: how much one more pass over the tasks moves.

    It holds the tasks fixed: it says nothing of other tasks, and is narrower the more tasks there are. The interval
    is m ± t(R - 1) · std / √R over R repeats.

    Source: Student's interval for a mean (G. W. Snedecor and W. G. Cochran, Statistical Methods, 8th ed. 1989,
    section 4.7), as `gym eval profile` gives it for repeats.

    Args:
        rollouts: One row a rollout, with `_ng_rollout_index` and the value.
        by: Columns that make a group.
        value: The column of values; rows without one do not count.
        confidence: How much of the distribution the interval covers.

    Returns:
        A row a group: `by`; `value`, `se`, `low`, `high` (Float64): the last three are null for one repeat, the
        interval too where no repeat differs; `repeats` (UInt32); `uneven` (Boolean): whether they rest on different
        numbers of rollouts, so that `value` is not the mean over all of these.
    """
    there = rollouts.filter(column(value).is_not_null())
    at_index = per_group(there, [*by, names.ROLLOUT], _mean=number(value).mean(), _count=pl.len())
    raw = per_group(
        at_index,
        by,
        value=pl.col("_mean").mean(),
        _std=pl.col("_mean").std(ddof=1),
        repeats=pl.len(),
        uneven=pl.col("_count").n_unique() > 1,
    )
    spread = raw.with_columns(se=pl.col("_std") / pl.col("repeats").sqrt())
    return with_limits(spread, "repeats", (1 + confidence) / 2).select(
        *map(column, by), "value", "se", "low", "high", "repeats", "uneven"
    )


def _of_group(
    group: pl.DataFrame,
    by: Sequence[str],
    *,
    means: Means,
    sums: Sequence[str],
    upper: float,
    draws: int,
    seed: int,
) -> pl.DataFrame:
    """The bootstrap intervals of one group: a row a mean."""
    pairs = [(sums.index(total), sums.index(weight)) for total, weight in means.values()]
    limits = resampled_means(group.select(map(column, sums)).to_numpy(), pairs, upper=upper, draws=draws, seed=seed)
    low, high = ([None if one is None else one[side] for one in limits] for side in (0, 1))
    found = pl.DataFrame({"mean": list(means), "low": low, "high": high}, schema_overrides=LIMITS)
    return group.select(map(column, by)).head(1).join(found, how="cross") if by else found
