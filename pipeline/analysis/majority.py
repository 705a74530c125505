"""How often the answer that most of k rollouts give is right, and how often there is none."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import polars as pl

from pipeline import names
from pipeline.analysis.elections import Votes, majority_share
from pipeline.analysis.passing import at, only_of, with_shares
from pipeline.analysis.plain import plain_text
from pipeline.profile.expressions import column

BITS = 32
PROFILE = ["_answers", "_blank"]


def answers(rollouts: pl.LazyFrame, field: str) -> pl.Expr | None:
    """The answers of rollouts as text: null where there is none; None where no column is called so.

    A field may be text in one rollout and a number in the next; the number 5 and the texts "5" and " 5 " are one
    answer. A text of white space is none.

    Args:
        rollouts: As `Run.rollouts` has them: texts of 128 bytes and fewer are there as `_row.FIELD`, numbers as the
            metric FIELD, fields that were asked for as `_FIELD`.
        field: The name.
    """
    schema = rollouts.collect_schema()
    places = (field, f"{names.INTERNAL}row.{field}", names.internal(field))
    found = [name for name in dict.fromkeys(places) if name in schema and not schema[name].is_nested()]
    return pl.coalesce(_as_text(name, schema[name]) for name in found) if found else None


def with_majority(
    tasks: pl.LazyFrame, rollouts: pl.LazyFrame, keys: Sequence[str], ks: Sequence[int], *, seed: int = 0
) -> pl.LazyFrame:
    """Adds majority@k and no-answer@k of each task over all ways to take k of its n rollouts.

    Of k rollouts those without an answer abstain; the answer that most of the others give wins, of several with as
    many each in equal shares, and is as right as the share of the rollouts with it that pass. Without any answer it
    is wrong: that is no-answer@k = C(b, k) / C(n, k) for b rollouts without. Exact (`elections`), except where k and
    the number of a task's rollouts are both large.

    Source: X. Wang et al., Self-Consistency Improves Chain of Thought Reasoning, arXiv 2203.11171, section 2.

    Args:
        tasks: One row a task in each group, with `rollouts`.
        rollouts: Those that vote, with `_answer` (String) and `_passed`.
        keys: What a row of tasks is told by.
        ks: How many rollouts are taken.
        seed: What draws start from, where there are too many ways to count.

    Returns:
        The tasks in their order, with `majority@K` and `no-answer@K` (Float64, null where n < k) for each k, and
        `answered` (UInt32): rollouts with an answer.
    """
    counted = (
        rollouts.filter(pl.col("_answer").is_not_null())
        .group_by(*map(column, keys), "_answer")
        .agg(_votes=pl.len().cast(pl.UInt64), _right=pl.col("_passed").sum().cast(pl.UInt64))
        .with_columns(_pair=pl.col("_votes") * (1 << BITS) + pl.col("_right"))
        .group_by(map(column, keys))
        .agg(_answers=pl.col("_pair").sort(descending=True), answered=pl.col("_votes").sum().cast(pl.UInt32))
    )
    joined = tasks.join(counted, on=keys, how="left", nulls_equal=True, maintain_order="left").with_columns(
        pl.col("_answers").fill_null(pl.lit([], pl.List(pl.UInt64))), pl.col("answered").fill_null(0)
    )
    blank = joined.with_columns(_blank=pl.col("rollouts") - pl.col("answered"))
    silent = with_shares(blank, "_blank", {"no-answer@": only_of}, ks)
    found = pl.Schema(
        {"_answers": pl.List(pl.UInt64()), "_blank": pl.UInt32(), **{at("majority@", k): pl.Float64() for k in ks}}
    )
    table = silent.select(PROFILE).unique().map_batches(partial(_elected, ks=ks, seed=seed), schema=found)
    return silent.join(table, on=PROFILE, how="left", maintain_order="left").drop(PROFILE)


def _elected(profiles: pl.DataFrame, *, ks: Sequence[int], seed: int) -> pl.DataFrame:
    """The majority figures of each kind of task: how many rollouts give each answer, and how many of these pass."""
    ordered = profiles.sort("_blank", pl.col("_answers").list.len(), pl.col("_answers"))
    kinds = [
        Votes(tuple(p >> BITS for p in pairs), tuple(p & ((1 << BITS) - 1) for p in pairs), blank)
        for pairs, blank in ordered.iter_rows()
    ]
    return ordered.with_columns(
        pl.Series(at("majority@", k), majority_share(kinds, k, seed=seed), pl.Float64) for k in ks
    )


def _as_text(name: str, dtype: pl.DataType) -> pl.Expr:
    value = column(name)
    if dtype == pl.Boolean or dtype.is_numeric():
        return plain_text(value, dtype)
    text = value.cast(pl.String).str.strip_chars()
    return pl.when(text != "").then(text)
