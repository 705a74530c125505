"""Which candidates stay: rule by rule, with what each rule leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from pipeline.analysis.bands import band_of
from pipeline.profile.expressions import column

LEFT_BY = "_left_by"


class Rule(NamedTuple):
    """What a candidate has to fulfil.

    Attributes:
        name: How it is told.
        holds: Whether it is fulfilled (Boolean, row by row); null is no.
    """

    name: str
    holds: pl.Expr


def screened(candidates: pl.LazyFrame, rules: Sequence[Rule]) -> pl.LazyFrame:
    """The candidates with the first rule that each does not fulfil, none for those that stay.

    Columns: those of the candidates, then `_left_by` (UInt32): the number of the rule, from 0.
    """
    fails = [
        pl.when(~rule.holds.fill_null(value=False)).then(pl.lit(number, pl.UInt32)) for number, rule in enumerate(rules)
    ]
    return candidates.with_columns(pl.coalesce(fails).alias(LEFT_BY))


def left_out(screened_candidates: pl.DataFrame, rules: Sequence[Rule]) -> pl.DataFrame:
    """How many candidates each rule leaves out of those that the rules before it have kept.

    Columns: `step` (String: the rule), `in`, `out`, `left` (Int64): candidates before it, left out by it, and after it.
    """
    by_rule = dict(screened_candidates[LEFT_BY].drop_nulls().value_counts().iter_rows())
    out = [int(by_rule.get(number, 0)) for number in range(len(rules))]
    before = [len(screened_candidates) - sum(out[:number]) for number in range(len(rules))]
    return steps([(rule.name, came, gone) for rule, came, gone in zip(rules, before, out, strict=True)])


def steps(told: Sequence[tuple[str, int, int]]) -> pl.DataFrame:
    """Steps as a frame with the columns of `left_out`: what each is, how many came, and how many it left out."""
    schema = {"step": pl.String, "in": pl.Int64, "out": pl.Int64}
    return pl.DataFrame(told, schema=schema, orient="row").with_columns(left=pl.col("in") - pl.col("out"))


def by_band(pool: pl.DataFrame, chosen: pl.DataFrame, fields: Sequence[tuple[str, str]]) -> pl.DataFrame:
    """How many candidates there are, and how many were chosen, by pass rate in each value of each field.

    Columns: `field`, `value` (String, null for none), `band` (Enum), `candidates`, `chosen` (Int64); without a field
    all candidates are one value.

    Args:
        pool: All candidates.
        chosen: Those that were chosen.
        fields: The names of fields, and their columns.
    """
    found = []
    for name, field in fields or [("", "")]:
        value = column(field) if field else pl.lit(None, pl.String)
        counts = [
            frame.lazy()
            .select(value=value, band=band_of(pl.col("pass_rate")))
            .group_by("value", "band")
            .agg(pl.len().cast(pl.Int64).alias(counted))
            for counted, frame in (("candidates", pool), ("chosen", chosen))
        ]
        both = counts[0].join(counts[1], on=["value", "band"], how="left", nulls_equal=True)
        found.append(both.sort("value", "band", nulls_last=True).select(pl.lit(name).alias("field"), pl.all()))
    return pl.concat(found).with_columns(pl.col("chosen").fill_null(0)).collect(engine="in-memory")
