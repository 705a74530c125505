"""What two runs are compared by: a number, or none, for every planned rollout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from pipeline import names
from pipeline.analysis.scoring import PassRule
from pipeline.columns import planned, with_numbers
from pipeline.frames.lazy import with_missing
from pipeline.groups import number, per_group
from pipeline.profile.expressions import column, metrics_of
from pipeline.run import Run

SCORE = "_score"
PASSES = "_passes"
LOST_AS_ZERO = "_lost_as_zero"
UNTROUBLED = "_untroubled"
TRUNCATED, UNHEALTHY = "truncated", "unhealthy"
OF_PLANNED = ("missing", "failed", "masked", "unscored")
"""The shares that are over the planned rollouts."""


class Measure(NamedTuple):
    """Something that is compared.

    Attributes:
        column: Its column in `measured_rollouts`, which no metric is called like.
        kind: `score`, `passes`, `what if`, `share` or `metric`.
        name: What people call it.
    """

    column: str
    kind: str
    name: str


def measures_of(base: Run, candidate: Run, rule: PassRule) -> list[Measure]:
    """What the two can be compared by: the score, its what-ifs, the shares, and the metrics that both have."""
    there = metrics_of(candidate.aligned.frame.collect_schema())
    both = [name for name in metrics_of(base.aligned.frame.collect_schema()) if name in there]
    return [
        Measure(SCORE, "score", rule.score),
        Measure(PASSES, "passes", str(rule)),
        Measure(LOST_AS_ZERO, "what if", f"{rule.score}, lost rollouts as 0"),
        Measure(UNTROUBLED, "what if", f"{rule.score}, truncated and unhealthy rollouts dropped"),
        *(Measure(f"_share {name}", "share", name) for name in _shares(rule)),
        *(Measure(f"_metric {name}", "metric", name) for name in both if name != rule.score),
    ]


def measured_rollouts(
    run: Run, rule: PassRule, measures: Sequence[Measure], *, of_finished: bool = False
) -> pl.LazyFrame:
    """Every planned rollout with its measures.

    A share is 1 or 0 for each rollout that it is over: `missing` (not finished, whatever became of it), `failed`
    (not finished, and an attempt left a line), `masked` and `unscored` (measured, without a score) are over the
    planned ones; `truncated` over those with a response, `unhealthy` over those with a verdict. A lost rollout is one
    that is missing, masked or unscored; a troubled one is truncated or unhealthy.

    Columns: both indices (Int64), `_agent` (String), then a column a measure (Float64), null where it says nothing: so
    are shares of the planned ones and lost rollouts where nobody knows what was planned, and what truncation means
    where nobody knows what was truncated.

    Args:
        run: The run.
        rule: Which metric is the score, and when a rollout passes.
        measures: What to work out.
        of_finished: Whether only finished rollouts will be looked at, so that the plan does not matter.

    Raises:
        UsageError: There is no such score, or it holds no numbers.
    """
    rows = _with_failed(_with_score(_planned(run), rule), run)
    score = pl.when(pl.col("_measured")).then(number(rule.score))
    passes = pl.when(score.is_not_null()).then((score >= rule.limit()).cast(pl.Float64))
    troubled = pl.col("_truncated").fill_null(value=False) | (pl.col("_verdict") == UNHEALTHY).fill_null(value=False)
    of_column = {
        SCORE: score,
        PASSES: passes,
        LOST_AS_ZERO: score.fill_null(0.0),
        UNTROUBLED: pl.when(~troubled).then(score),
        **{f"_share {name}": share.cast(pl.Float64) for name, share in _shares(rule).items()},
    }
    of_column |= dict.fromkeys(_unknown(run, of_finished=of_finished), pl.lit(None, pl.Float64))
    figures = [
        of_column[one.column].alias(one.column)
        if one.column in of_column
        else pl.when(pl.col("_measured")).then(number(one.name)).alias(one.column)
        for one in measures
    ]
    return rows.select(*names.KEY, "_agent", *figures)


def sums_by_task(rollouts: pl.LazyFrame, measures: Sequence[Measure]) -> pl.LazyFrame:
    """Sums over the rollouts of each task and agent.

    Columns: `_ng_task_index` (Int64), `_agent` (String); for each measure `sum COLUMN` (Float64) and `count COLUMN`
    (UInt32, over how many rollouts).
    """
    sums = {f"sum {one.column}": column(one.column).sum() for one in measures}
    counts = {f"count {one.column}": column(one.column).count() for one in measures}
    return per_group(rollouts, (names.TASK, "_agent"), **sums, **counts)


def _unknown(run: Run, *, of_finished: bool) -> list[str]:
    """The columns of measures that this kind of run does not tell."""
    lost = [LOST_AS_ZERO, *(f"_share {name}" for name in OF_PLANNED)]
    cut = [UNTROUBLED, f"_share {TRUNCATED}"]
    is_whole = run.knows_rollouts and (run.knows_planned or of_finished)
    return [*([] if is_whole else lost), *([] if run.knows_rollouts else cut)]


def _shares(rule: PassRule) -> dict[str, pl.Expr]:
    finished, measured = pl.col("_finished"), pl.col("_measured")
    return {
        "missing": ~finished,
        "failed": pl.col("_failed"),
        "masked": finished & pl.col("_masked"),
        "unscored": measured & column(rule.score).is_null(),
        TRUNCATED: pl.when(finished).then(pl.col("_truncated")),
        UNHEALTHY: pl.when(finished & pl.col("_verdict").is_not_null()).then(pl.col("_verdict") == UNHEALTHY),
    }


def _planned(run: Run) -> pl.LazyFrame:
    """The planned rollouts; what a quality check says is only joined where one was made."""
    if run.files.verdicts:
        return planned(run)
    return with_missing(run.aligned.frame, {"_verdict": pl.String(), "_truncated": pl.Boolean()})


def _with_score(rows: pl.LazyFrame, rule: PassRule) -> pl.LazyFrame:
    """The rows with the score; where no rollout finished, none is missing."""
    checked = with_numbers(rows.filter(pl.col("_finished")), rule.score).collect_schema()
    return rows.pipe_with_schema(
        lambda there, schema: (
            there if rule.score in schema else there.with_columns(pl.lit(None, checked[rule.score]).alias(rule.score))
        )
    )


def _with_failed(rows: pl.LazyFrame, run: Run) -> pl.LazyFrame:
    """Adds `_failed`: whether a planned rollout did not finish, and an attempt at it left a line."""
    if not run.files.failures:
        return rows.with_columns(_failed=pl.lit(value=False))
    attempted = run.failures.filter(pl.col("_problem").is_null()).select(*names.KEY, _attempted=pl.lit(value=True))
    joined = rows.join(attempted.unique(), on=names.KEY, how="left", maintain_order="left")
    return joined.with_columns(_failed=pl.col("_attempted").fill_null(value=False) & ~pl.col("_finished"))
