"""Numbers for rollouts without indices: the same prompt is the same task."""

from __future__ import annotations

import polars as pl

from pipeline import names
from pipeline.sources.plans import UNNUMBERED

MIXED = f"has no {names.TASK}, while other rows have"
"""What is wrong with a row without indices where others have them."""
PROMPTS = pl.DataFrame(schema={"_prompt_digest": pl.Int64, names.TASK: pl.Int64, "_before": pl.Int64})
"""Prompts met so far: their task, and how many rollouts it has."""


def unnumbered(rows: pl.DataFrame) -> pl.Series:
    """Which usable rows have no indices (Boolean)."""
    return rows["_problem"].is_null() & ((rows["_flags"] & UNNUMBERED) > 0).fill_null(value=False)


def numbered(rows: pl.DataFrame, met: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Numbers rows without indices: tasks in the order in which their prompts appear, rollouts in that of the rows.

    Args:
        rows: The next rows, with `_prompt_digest` (Int64) and `_problem`; those that cannot be used get no number.
        met: The prompts of the rows before, `PROMPTS` for none.

    Returns:
        The rows with both indices (Int64), and the prompts met with these.
    """
    whole = pl.col("_problem").is_null()
    counts = rows.filter(whole).group_by("_prompt_digest", maintain_order=True).agg(_more=pl.len().cast(pl.Int64))
    new = counts.join(met, on="_prompt_digest", how="anti", maintain_order="left").select("_prompt_digest")
    new = new.with_columns(pl.int_range(len(met), len(met) + len(new), eager=True).alias(names.TASK), _before=0)
    known = pl.concat([met, new.cast(met.schema)])
    told = rows.drop(names.TASK).join(known, on="_prompt_digest", how="left", maintain_order="left")
    rollout = pl.int_range(pl.len(), dtype=pl.Int64).over("_prompt_digest") + pl.col("_before")
    before = pl.col("_before") + pl.col("_more").fill_null(0)
    return (
        told.with_columns(pl.when(whole).then(rollout).alias(names.ROLLOUT)).drop("_before"),
        known.join(counts, on="_prompt_digest", how="left", maintain_order="left")
        .with_columns(_before=before)
        .drop("_more"),
    )
