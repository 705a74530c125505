"""How much of what was planned is there, and what became of the rest."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import polars as pl

from pipeline import names
from pipeline.frames.lazy import collect

UNKNOWN = "unknown"
COUNTED = (
    "expected_rollout_rows",
    "completed_rollout_rows",
    "masked_rollout_rows",
    "measured_rollout_rows",
    "unscored_rollout_rows",
)


class Completion:
    """Counts of a run; the frame is collected when a count is first asked for."""

    def __init__(self, frame: pl.LazyFrame) -> None:
        self._frame = frame

    def __repr__(self) -> str:
        return f"Completion({', '.join(f'{name}={count}' for name, count in self.counts.items())})"

    @cached_property
    def counts(self) -> dict[str, int | float]:
        """Rollouts expected, completed, missing, masked, measured and unscored; tasks complete, partial, missing.

        A task counts once for each agent where any task was run by several. Unscored is a measured rollout
        without a reward. `reward_profile_completion_pct` is 100 where nothing was expected.
        """
        units = collect(_units(self._frame))
        row = units.select(pl.sum(name) for name in COUNTED).row(0, named=True)
        expected, completed = row["expected_rollout_rows"], row["completed_rollout_rows"]
        done, planned = units["completed_rollout_rows"], units["expected_rollout_rows"]
        return {
            "expected_rollout_rows": expected,
            "completed_rollout_rows": completed,
            "missing_rollout_rows": expected - completed,
            "reward_profile_completion_pct": 100.0 * completed / expected if expected else 100.0,
            "total_input_rows": len(units),
            "complete_input_rows": (done == planned).sum(),
            "partial_input_rows": ((done > 0) & (done < planned)).sum(),
            "missing_input_rows": (done == 0).sum(),
            **{name: row[name] for name in COUNTED[2:]},
        }


def accounting(frame: pl.LazyFrame, failures: pl.LazyFrame, *, by: Sequence[str] = ()) -> pl.LazyFrame:
    """What became of planned rollouts that did not finish, by the class of the last attempt.

    Args:
        frame: As `align` gives it.
        failures: As `scan_failures` gives them; attempts of finished rollouts do not count.
        by: Columns of the frame that make groups.

    Returns:
        Columns `by`, `failure_class` (String; `unknown` where no attempt left a line), `rollouts` (UInt32), most first.
    """
    last = (
        failures.filter(pl.col("_problem").is_null())
        .sort("_file", "_line")
        .group_by(names.KEY)
        .agg(named_class().last())
    )
    return (
        frame.filter(~pl.col("_finished"))
        .select(*names.KEY, *by)
        .join(last, on=names.KEY, how="left")
        .group_by(*by, failure_class=pl.col("_failure_class").fill_null(UNKNOWN))
        .agg(rollouts=pl.len())
        .sort("rollouts", "failure_class", descending=(True, False))
    )


def named_class() -> pl.Expr:
    """The class of each failed attempt; one that is called like the lack of any line is told apart."""
    named = pl.col("_failure_class").fill_null(names.UNNAMED_FAILURE)
    return pl.when(named == UNKNOWN).then(pl.lit(f"{UNKNOWN} (named so)")).otherwise(named).alias("_failure_class")


def _units(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Counts of each task, or of each task and agent where any task was run by several."""
    scored = pl.coalesce(pl.selectors.by_name(names.REWARD, require_all=False), pl.lit(None, pl.Float64)).is_not_null()
    return frame.group_by(names.TASK, "_row_agent").agg(
        expected_rollout_rows=pl.len(),
        completed_rollout_rows=pl.col("_finished").sum(),
        masked_rollout_rows=(pl.col("_finished") & pl.col("_masked")).sum(),
        measured_rollout_rows=pl.col("_measured").sum(),
        unscored_rollout_rows=(pl.col("_measured") & ~scored).sum(),
    )
