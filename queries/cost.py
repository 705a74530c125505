"""What a success costs in tokens."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import polars as pl

from pipeline import names
from pipeline.columns import by_columns, with_numbers
from pipeline.groups import number, per_group
from pipeline.profile.expressions import metrics_of
from pipeline.run import Run

LAST_WORD = re.compile(r"[a-z]+_tokens$")


def cost(run: Run, *, threshold: float = 1.0, field: str = "total_tokens", by: Sequence[str] = ()) -> pl.LazyFrame:
    """Tokens for each solved task and each passing rollout of an agent, with those of judges; with --by of each group.

    Over scored rollouts: tokens of passing and failing ones; a task is solved if any of them passes.

    Columns: `_agent`, or those of `by`; `tasks`, `solved_tasks`, `rollouts`, `passed`, `rollouts_with_tokens`
    (UInt32): the last has the field; `tokens` (Float64) of the field, null where no rollout has it; `judge_tokens`
    (Float64), null in a run without any; `all_tokens` (Float64): both;
    `tokens_per_solved_task`, `tokens_per_passing_rollout` (Float64): all tokens by solved tasks and by passing
    rollouts, null where there is none; `left_out_tokens` (Float64): all tokens of masked and unscored rollouts, in
    none of these; `judge_fields` (String): the metrics that are tokens of judges, null without any.

    Args:
        run: What is asked about.
        threshold: The reward from which on a rollout passes.
        field: The metric that counts the rollout's own tokens.
        by: Columns that make a group.

    Raises:
        UsageError: There is no such column.
    """
    rollouts = with_numbers(run.rollouts, names.REWARD, field)
    judges = judge_fields(name for name in metrics_of(rollouts.collect_schema()) if name != field)
    votes = pl.col("_measured") & pl.col(names.REWARD).is_not_null()
    passed, task = votes & (pl.col(names.REWARD) >= threshold), pl.col(names.TASK)
    own, counted = number(field), number(field).filter(votes).count()
    judged = pl.sum_horizontal(map(number, judges)) if judges else pl.lit(0.0)
    both = own.fill_null(0.0) + judged
    spent = pl.when(counted > 0).then(both.filter(votes).sum())
    return per_group(
        rollouts,
        by_columns(rollouts, by) or ["_agent"],
        tasks=task.filter(votes).n_unique(),
        solved_tasks=task.filter(passed).n_unique(),
        rollouts=votes.sum(),
        passed=passed.sum(),
        rollouts_with_tokens=counted,
        tokens=pl.when(counted > 0).then(own.filter(votes).sum()),
        judge_tokens=judged.filter(votes).sum() if judges else pl.lit(None, pl.Float64),
        all_tokens=spent,
        tokens_per_solved_task=pl.when(passed.any()).then(spent / task.filter(passed).n_unique()),
        tokens_per_passing_rollout=pl.when(passed.any()).then(spent / passed.sum()),
        left_out_tokens=both.filter(~votes).sum(),
        judge_fields=pl.lit(", ".join(judges) or None, pl.String),
    )


def judge_fields(metrics: Iterable[str]) -> list[str]:
    """The metrics that count tokens of judges; where a total is among them, not its parts."""
    found = [name for name in metrics if "judge" in name.lower() and name.endswith("tokens")]
    whole = [name for name in found if "_details/" not in name]
    totals = {name for name in whole if name.endswith("total_tokens")}
    return [name for name in whole if name in totals or LAST_WORD.sub("total_tokens", name) not in totals]
