"""What is there of what was planned, and what the mean score could be if the rest were there too."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from pipeline import names
from pipeline.analysis.plain import plain_number
from pipeline.completion import accounting
from pipeline.groups import per_group
from pipeline.profile.expressions import column

COUNTS = ("planned", "finished", "missing", "masked", "unscored", "scored")
OF_PLAN = ("planned", "missing")
OF_MASKED = ("finished", "masked")
CASES = ("if dropped", "if zero", "if best", "if worst")
MASKED, UNSCORED = "(masked)", "(unscored)"


def completeness(planned: pl.LazyFrame, by: Sequence[str] = ()) -> pl.LazyFrame:
    """How many rollouts each group was to have, and what can be used of them.

    Args:
        planned: One row a planned rollout: `by`, `_ng_task_index`, `_finished`, `_measured` (Boolean), `_scored`
            (Boolean: whether it has a score).
        by: Columns that make a group.

    Returns:
        A row a group: `by`; `tasks`, `planned`, `finished`, `missing`, `masked`, `unscored`, `scored` (UInt32), of
        which planned = finished + missing and finished = masked + unscored + scored; `scored_tasks` (UInt32): tasks
        with a score.
    """
    done, measured, scored = pl.col("_finished"), pl.col("_measured"), pl.col("_measured") & pl.col("_scored")
    return per_group(
        planned,
        by,
        tasks=pl.col(names.TASK).n_unique(),
        planned=pl.len(),
        finished=done.sum(),
        missing=(~done).sum(),
        masked=(done & ~measured).sum(),
        unscored=(measured & ~pl.col("_scored")).sum(),
        scored=scored.sum(),
        scored_tasks=pl.col(names.TASK).filter(scored).n_unique(),
    )


def without_score(planned: pl.LazyFrame, failures: pl.LazyFrame, by: Sequence[str] = ()) -> pl.LazyFrame:
    """The planned rollouts without a score, by what became of them.

    Args:
        planned: As for `completeness`, with both indices.
        failures: As `scan_failures` gives them.
        by: Columns that make a group.

    Returns:
        `by`, `failure_class` (String: that of the last attempt, `unknown` without any, `(masked)`, `(unscored)`),
        `rollouts` (UInt32).
    """
    measured = pl.col("_measured")
    kind = pl.when(~measured).then(pl.lit(MASKED)).otherwise(pl.lit(UNSCORED))
    finished = planned.filter("_finished", ~(measured & pl.col("_scored")))
    beside = finished.group_by(*map(column, by), failure_class=kind).agg(rollouts=pl.len())
    return pl.concat(
        [accounting(planned, failures, by=by), beside.select(*map(column, by), "failure_class", "rollouts")]
    )


def mean_bounds(complete: pl.LazyFrame, lost: pl.LazyFrame, votes: pl.LazyFrame, by: Sequence[str]) -> pl.LazyFrame:
    """The mean score if rollouts without one are dropped, or had the score 0, the best, or the worst there is.

    Best and worst are the largest and smallest score of the run, or 1 and 0 where these go further: bounds that no
    assumption on why rollouts are missing can leave.

    Source: C. F. Manski, Partial Identification of Probability Distributions, 2003, chapter 1 (worst-case bounds).

    Args:
        complete: As `completeness` gives it.
        lost: As `without_score` gives them.
        votes: As `voting` gives them, with `by`.
        by: Columns that make a group, one at least.

    Returns:
        A row a group, class of failure and case: `by`; `failure_class` (String: only these rollouts are filled in,
        all others dropped; null: all are); `figure` (String, of `CASES`); `value` (Float64); `tasks`, `rollouts`
        (UInt32): what the mean is over; `note` (String): best and worst.
    """
    scores = per_group(votes, by, _sum=pl.col("_score").sum())
    ends = votes.select(
        _low=pl.min_horizontal(pl.col("_score").min(), 0.0), _high=pl.max_horizontal(pl.col("_score").max(), 1.0)
    )
    any_class = complete.select(
        *map(column, by),
        failure_class=pl.lit(None, pl.String),
        _lost=(pl.col("planned") - pl.col("scored")).cast(pl.UInt32),
    )
    classes = pl.concat([any_class, lost.rename({"rollouts": "_lost"})])
    joined = (
        classes.join(complete, on=by, how="left", nulls_equal=True, maintain_order="left")
        .join(scores, on=by, how="left", nulls_equal=True, maintain_order="left")
        .join(ends, how="cross", maintain_order="left")
        .with_columns(pl.col("_sum").fill_null(0.0))
    )
    return pl.concat([_case(joined, by, case) for case in CASES]).sort(
        *map(column, by), "failure_class", maintain_order=True, nulls_last=[*(True for _ in by), False]
    )


def unknown_counts(rows: pl.LazyFrame, unknown: Sequence[str]) -> pl.LazyFrame:
    """Counts of rollouts, null with a reason in `note` where the run does not say so much.

    Args:
        rows: A row a count: `figure`, `failure_class` (null for those of all), `value`, `rollouts` (what it is over).
        unknown: As `Run.unknown`.
    """
    silent = [*(OF_PLAN if "planned" in unknown else ()), *(OF_MASKED if "masked" in unknown else ())]
    found = _silenced(rows, pl.col("figure").is_in(silent) & pl.col("failure_class").is_null(), unknown)
    return found.with_columns(rollouts=pl.lit(None, pl.UInt32)) if silent else found


def unknown_bounds(rows: pl.LazyFrame, unknown: Sequence[str]) -> pl.LazyFrame:
    """Bounds of the mean, null with a reason in `note` where nobody knows how many rollouts have no score.

    Args:
        rows: As `mean_bounds` gives them.
        unknown: As `Run.unknown`.
    """
    return _silenced(rows, (pl.col("figure") != CASES[0]) & pl.col("failure_class").is_null(), unknown)


def _silenced(rows: pl.LazyFrame, silent: pl.Expr, unknown: Sequence[str]) -> pl.LazyFrame:
    lacks = [one for one in ("planned", "masked") if one in unknown]
    if not lacks:
        return rows
    why = pl.lit(f"it is not known which rollouts were {' or '.join(lacks)}")
    note = pl.col("note") if "note" in rows.collect_schema() else pl.lit(None, pl.String)
    return rows.with_columns(
        value=pl.when(~silent).then("value"),
        rollouts=pl.when(~silent).then("rollouts"),
        note=pl.when(silent).then(why).otherwise(note),
    )


def _case(joined: pl.LazyFrame, by: Sequence[str], case: str) -> pl.LazyFrame:
    dropped = case == CASES[0]
    filled = {CASES[1]: pl.lit(0.0), CASES[2]: pl.col("_high"), CASES[3]: pl.col("_low")}
    lost, scored = pl.col("_lost"), pl.col("scored")
    over = scored if dropped else scored + lost
    total = pl.col("_sum") if dropped else pl.col("_sum") + lost * filled[case]
    ends = [pl.col(name).map_elements(plain_number, return_dtype=pl.String) for name in ("_high", "_low")]
    shown = pl.format("best is {}, worst is {}", *ends)
    return joined.select(
        *map(column, by),
        "failure_class",
        figure=pl.lit(case),
        value=pl.when(over > 0).then(total / over),
        tasks="scored_tasks" if dropped else "tasks",
        rollouts=over.cast(pl.UInt32),
        note=pl.when(over == 0).then(pl.lit("no rollout has a score")).otherwise(shown),
    )
