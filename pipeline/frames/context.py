"""What rows are told apart by, beside their metrics."""

from __future__ import annotations

import polars as pl

from pipeline.options import ReadOptions


def with_context(frame: pl.DataFrame, options: ReadOptions, root: str) -> pl.DataFrame:
    """The rows with their short texts as Categorical, and a column for each field asked for, be it nowhere.

    Args:
        frame: Rows with `ROOT.NAME` (String) and the fields asked for.
        options: Whether a context was asked for, and which fields.
        root: `_row.` or `_input.`.
    """
    if not options.context:
        return frame
    asked = [column for column, _ in options.asked(root)]
    short = [name for name in frame.columns if name.startswith(root) and name not in asked]
    nowhere = [pl.lit(None, pl.String).alias(column) for column in asked if column not in frame.columns]
    return frame.with_columns(*(frame[name].cast(pl.Categorical) for name in short), *nowhere)
