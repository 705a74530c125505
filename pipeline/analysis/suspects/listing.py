"""What there is to say of a task to distrust: the columns that every reason has."""

from __future__ import annotations

from typing import Literal, get_args

import polars as pl

from pipeline import names

Reason = Literal["wrong_key", "flaky_verifier", "same_task", "same_prompt"]
REASONS: tuple[Reason, ...] = get_args(Reason)
EVIDENCE_SHOWN = 10
COLUMNS = {
    names.TASK: pl.Int64(),
    "_agent": pl.String(),
    "reason": pl.Enum(REASONS),
    "answer": pl.String(),
    "count": pl.UInt32(),
    "of": pl.UInt32(),
    "share": pl.Float64(),
    "chance": pl.Float64(),
    "passed": pl.UInt32(),
    "min_score": pl.Float64(),
    "max_score": pl.Float64(),
    "evidence": pl.List(pl.String()),
}


def as_suspects(rows: pl.LazyFrame, reason: pl.Expr) -> pl.LazyFrame:
    """Rows with the columns of suspects, those that a reason has nothing to say of null."""

    def completed(found: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        there = {name: pl.col(name) if name in schema else pl.lit(None) for name in COLUMNS}
        there |= {"reason": reason, "share": pl.col("count") / pl.col("of")}
        return found.select(there[name].cast(dtype).alias(name) for name, dtype in COLUMNS.items())

    return rows.pipe_with_schema(completed)


def key_texts() -> pl.Expr:
    """The first few rollouts of a group as `task:rollout`, which `rollprof show` takes."""
    return pl.concat_str(names.TASK, names.ROLLOUT, separator=":").head(EVIDENCE_SHOWN)


def most_suspect_first(suspects: pl.LazyFrame) -> pl.LazyFrame:
    """By reason, then those with the largest share and the most rollouts first, then by task, agent and answer."""
    return suspects.sort(
        "reason",
        "share",
        "count",
        names.TASK,
        "_agent",
        "answer",
        descending=[False, True, True, False, False, False],
        nulls_last=True,
    )
