"""Numbers where they stand in a row: the columns they are kept in, and which of them are numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping

import polars as pl

from pipeline.sources.reading import Metric, Shape

RAW = "_raw "


def shape_text(shape: Shape) -> str:
    """A shape as the column `_shape` tells it: the metrics of the row's own fields, and of its usage, in order."""
    return json.dumps(shape)


def shape_of(text: str | None) -> Shape:
    """The shape that a text of the column `_shape` tells."""
    top, usage = json.loads(text) if text else ((), ())
    return tuple((place, name) for place, name in top), tuple((place, name) for place, name in usage)


def raw_column(metric: Metric) -> str:
    """The internal column for a metric where it stands."""
    return RAW + json.dumps(metric)


def metric_of(column: str) -> Metric:
    """The metric that an internal column is for."""
    place, name = json.loads(column.removeprefix(RAW))
    return place, name


def without_infinities(raw: Mapping[Metric, pl.Series], height: int) -> tuple[dict[Metric, pl.Series], pl.Series]:
    """NaN, Infinity and numbers beyond a double are no numbers; how many were left out of each row (UInt32)."""
    counts = pl.zeros(height, pl.UInt32, eager=True)
    cleaned = dict(raw)
    for metric, numbers in raw.items():
        if numbers.dtype.is_float() and not numbers.is_finite().all():
            infinite = (~numbers.is_finite()).fill_null(value=False)
            cleaned[metric] = numbers.set(infinite, None)
            counts += infinite.cast(pl.UInt32)
    return cleaned, counts
