"""Which tasks of a run still need repeats, how many, and what these cost."""

from __future__ import annotations

import polars as pl

from pipeline import names
from pipeline.analysis.repeats_needed import Target, repeats_needed
from pipeline.analysis.scoring import PassRule, voting
from pipeline.analysis.tasks import by_task
from pipeline.columns import measured
from pipeline.groups import GROUP, number, per_group
from pipeline.run import Run

TOTAL = "total_tokens"
PARTS = ("input_tokens", "output_tokens")
LEVELS = {"_of_group": list(GROUP), "_of_agent": ["_agent"], "_of_run": ["_all"]}
"""Whose mean usage is taken, the first of them that is known."""
PLAN = (
    *GROUP,
    "reason",
    "rollouts",
    "passed",
    "in_band",
    "half_width",
    "pending",
    "redo",
    "needed",
    "settled",
    "more",
    "tokens_each",
    "tokens",
    "pending_tokens",
)


def topup_plan(
    run: Run, rule: PassRule, target: Target, *, redo: pl.LazyFrame | None = None, max_attempts: int = 3
) -> pl.LazyFrame:
    """What each task and agent of a run still needs, sorted by both.

    Rollouts that are planned and still to come count towards what is needed: those that have not finished, unless they
    are given up, and those that are to be done again. Masked and unscored rollouts do not vote.

    Columns: `_ng_task_index`, `_agent`; `reason` (String: `straddles`, `wide`, both, and `redo`, with commas between;
    null where nothing is needed); `rollouts`, `passed` (UInt32): those that vote, and of them those that pass;
    `in_band`, `half_width`, `needed`, `settled` as `repeats_needed` gives them; `pending` (UInt32): planned and still
    to come; `redo` (UInt32): of them those to be done again; `more` (Int64): repeats to plan; `tokens_each` (Float64):
    the mean usage of a rollout as `usage_of_groups` gives it; `tokens`, `pending_tokens` (Int64): of all of `more` and
    of `pending`, rounded up, null where no usage is known.

    Args:
        run: What is asked about.
        rule: When a rollout passes.
        target: What is to be known of each pass rate.
        redo: The keys of rollouts that are to be done again, which then no longer vote.
        max_attempts: After how many failed attempts a rollout is given up.

    Raises:
        UsageError: There is no such column as the rule's score, or it holds no numbers.
    """
    keys = pl.LazyFrame(schema=dict.fromkeys(names.KEY, pl.Int64)) if redo is None else redo.select(names.KEY)
    votes = voting(run, rule).join(keys, on=names.KEY, how="anti")
    counted = by_task(votes).select(*GROUP, "rollouts", "passed")
    groups = _planned(run, keys, max_attempts=max_attempts)
    known = groups.join(counted, on=GROUP, how="left", nulls_equal=True, maintain_order="left")
    known = known.with_columns(pl.col("rollouts", "passed").fill_null(0))
    usage = usage_of_groups(run)
    found = repeats_needed(known, target).join(usage, on=GROUP, how="left", nulls_equal=True, maintain_order="left")
    return _costed(found.with_columns(more=_more(), reason=_reason())).select(PLAN)


def given_up(run: Run, *, max_attempts: int) -> pl.LazyFrame:
    """The keys of rollouts that a collection does not try again: a terminal failure, or too many attempts.

    Columns: both indices.
    """
    attempts = run.failures.filter(pl.col("_problem").is_null())
    counted = attempts.group_by(names.KEY).agg(_attempts=pl.len(), _terminal=pl.col("_terminal").any())
    return counted.filter(pl.col("_terminal") | (pl.col("_attempts") >= max_attempts)).select(names.KEY)


def usage_of_groups(run: Run) -> pl.LazyFrame:
    """What a rollout of each task and agent uses in the mean, in tokens.

    That is the mean over the group's measured rollouts that say their usage; else over those of its agent; else over
    those of the run. The usage is `total_tokens`, else the sum of `input_tokens` and `output_tokens`.

    Columns: `_ng_task_index`, `_agent`, `tokens_each` (Float64, null where no rollout says anything).
    """
    rollouts = measured(run)
    there = rollouts.collect_schema()
    known = [number(name) for name in (TOTAL,) if name in there]
    if all(name in there for name in PARTS):
        known.append(number(PARTS[0]) + number(PARTS[1]))
    tokens = pl.coalesce(known) if known else pl.lit(None, pl.Float64)
    used = rollouts.select(*GROUP, _tokens=tokens)
    said = used.filter(pl.col("_tokens").is_not_null()).with_columns(_all=pl.lit(0, pl.Int8))
    means = {name: per_group(said, by, **{name: pl.col("_tokens").mean()}) for name, by in LEVELS.items()}
    groups = run.aligned.frame.select(GROUP).unique(maintain_order=True).with_columns(_all=pl.lit(0, pl.Int8))
    for name, by in LEVELS.items():
        groups = groups.join(means[name], on=by, how="left", nulls_equal=True, maintain_order="left")
    return groups.select(*GROUP, tokens_each=pl.coalesce(list(LEVELS)))


def _planned(run: Run, redo: pl.LazyFrame, *, max_attempts: int) -> pl.LazyFrame:
    """Every planned task and agent: how many of its rollouts are still to come, and are to be done again."""
    plan = run.aligned.frame.select(*names.KEY, "_agent", "_finished")
    told = plan.join(redo.with_columns(_redo=True), on=names.KEY, how="left", maintain_order="left").join(
        given_up(run, max_attempts=max_attempts).with_columns(_over=True),
        on=names.KEY,
        how="left",
        maintain_order="left",
    )
    again, over = (pl.col(name).fill_null(value=False) for name in ("_redo", "_over"))
    told = told.with_columns(_redo=again, _pending=(again | ~pl.col("_finished")) & ~over)
    return per_group(told, GROUP, pending=pl.col("_pending").sum(), redo=pl.col("_redo").sum())


def _more() -> pl.Expr:
    """The repeats to plan: what is needed beyond what is still to come."""
    return (pl.col("needed") - pl.col("pending").cast(pl.Int64)).clip(lower_bound=0)


def _reason() -> pl.Expr:
    again = pl.when(pl.col("redo") > 0).then(pl.lit("redo"))
    reasons = pl.concat_str("reason", again, separator=", ", ignore_nulls=True)
    return pl.when(reasons != "").then(reasons)


def _costed(plan: pl.LazyFrame) -> pl.LazyFrame:
    costs = {
        name: (pl.col("tokens_each") * pl.col(count)).ceil().cast(pl.Int64)
        for name, count in (("tokens", "more"), ("pending_tokens", "pending"))
    }
    return plan.with_columns(**costs)
