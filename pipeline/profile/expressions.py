"""The named Polars expressions and groupings that the grains are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl
import polars.selectors as cs
from polars.lazyframe.group_by import LazyGroupBy

from pipeline import names
from pipeline.profile.student import t_quantiles

DISTANCE = "_distance "
INTERPOLATED = frozenset({"median", "p25", "p75"})


def is_pattern(name: str) -> bool:
    """Whether Polars reads a name as a pattern of names."""
    return name == "*" or name.startswith("^")


def column(name: str) -> pl.Expr:
    """The column of exactly this name; `pl.col` would read `*` and `^a.*$` as patterns."""
    return cs.by_name(name).as_expr() if is_pattern(name) else pl.col(name)


def metrics_of(schema: Iterable[str]) -> list[str]:
    """The metric columns: all whose names do not start with `_`."""
    return [name for name in schema if not name.startswith(names.INTERNAL)]


def finite(value: pl.Expr) -> pl.Expr:
    """The value, or null where it is not finite: such a figure has no key."""
    return pl.when(value.is_finite()).then(value)


def unsigned_zero(value: pl.Expr) -> pl.Expr:
    """The value, or 0.0 for -0.0: which of the two a median of both is depends on the number of threads."""
    return pl.when(value == 0).then(0.0).otherwise(value)


def five_statistics(frame: pl.LazyFrame, by: Sequence[str], *, counts: bool) -> pl.LazyFrame:
    """Mean, max, min, median and std of every metric in each group, in the order of the groups.

    std is the sample standard deviation (n - 1): 0.0 for each column of a group of one row, else null for fewer
    than two values. Figures are worked out in doubles; one that is not finite is null.

    Args:
        frame: Rows with metrics, sorted by the groups, in an order that does not depend on how they were read.
        by: The columns that make a group.
        counts: Whether `count/METRIC` (how many rows have the number, null for none) follows.

    Returns:
        `by`, then `STAT/METRIC` (Float64) statistic by statistic, then `count/METRIC` (UInt32).
    """

    def grouped(rows: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        metrics = metrics_of(schema)
        raw = _grouped(rows, by, metrics).agg(
            *(expression for metric in metrics for expression in _five_raw(metric)), _rows=pl.len()
        )
        wanted = [*names.STATISTICS, "count"] if counts else names.STATISTICS
        return raw.select(*by, *(_settled(statistic, metric) for statistic in wanted for metric in metrics))

    return frame.pipe_with_schema(grouped)


def spread_statistics(
    frame: pl.LazyFrame, by: Sequence[str], values: Iterable[tuple[str, str]], labels: Sequence[str]
) -> pl.LazyFrame:
    """Spread of values over tasks or repeats in each of a few groups, in the order of the groups.

    Of one value, std and the standard error are 0.0 and there is no interval. The interval is mean ± t(0.975, n - 1)
    · std / √n. Percentiles are by linear interpolation.

    Args:
        frame: Rows with the values, in an order that does not depend on how they were read.
        by: The columns that make a group.
        values: (column, figure name with a `{}` for the statistic) of each value.
        labels: The statistics wanted; the standard error is `sem` or `se`.

    Returns:
        `by`, then the figures (Float64) statistic by statistic.
    """
    pairs = list(values)
    raw = frame.group_by(by, maintain_order=True).agg(
        expression for value, _ in pairs for expression in _spread_raw(value)
    )
    return raw.select(
        *by, *(_spread(label, value).alias(named.replace("{}", label, 1)) for label in labels for value, named in pairs)
    )


def _five_raw(metric: str) -> list[pl.Expr]:
    values = column(metric).cast(pl.Float64)
    return [
        values.mean().alias(f"mean/{metric}"),
        values.max().alias(f"max/{metric}"),
        values.min().alias(f"min/{metric}"),
        values.median().alias(f"median/{metric}"),
        column(DISTANCE + metric).std(ddof=1).alias(f"std/{metric}"),
        values.count().alias(f"count/{metric}"),
    ]


def _grouped(rows: pl.LazyFrame, by: Sequence[str], values: Iterable[str]) -> LazyGroupBy:
    """Groups of rows that stand together, with the distance of each value from the first of its group.

    The standard deviation of these distances is that of the values, and exact also far from zero. Subtracting within
    the aggregation would do for a few groups, and is slow for many.
    """
    distances = []
    for name in values:
        value = column(name).cast(pl.Float64)
        distances.append((value - value.first(ignore_nulls=True).over("_group")).alias(DISTANCE + name))
    numbered = rows.with_columns(_group=pl.struct(by).rle_id())
    return numbered.with_columns(distances).group_by(by, maintain_order=True)


def _settled(statistic: str, metric: str) -> pl.Expr:
    """A raw figure as it is shown."""
    named = f"{statistic}/{metric}"
    raw, count = column(named), column(f"count/{metric}")
    if statistic == "std":
        return pl.when((pl.col("_rows") == 1) & (count == 1)).then(0.0).otherwise(finite(raw)).alias(named)
    if statistic == "count":
        return pl.when(count > 0).then(count).alias(named)
    return finite(unsigned_zero(raw) if statistic in INTERPOLATED else raw).alias(named)


def _spread_raw(value: str) -> list[pl.Expr]:
    values = column(value).cast(pl.Float64)
    return [
        values.mean().alias(f"mean {value}"),
        values.median().alias(f"median {value}"),
        (values - values.first(ignore_nulls=True)).std(ddof=1).alias(f"std {value}"),
        values.min().alias(f"min {value}"),
        values.max().alias(f"max {value}"),
        values.quantile(0.25, "linear").alias(f"p25 {value}"),
        values.quantile(0.75, "linear").alias(f"p75 {value}"),
        values.count().alias(f"count {value}"),
    ]


def _spread(label: str, value: str) -> pl.Expr:
    count, mean = column(f"count {value}"), column(f"mean {value}")
    std = pl.when(count == 1).then(0.0).otherwise(column(f"std {value}"))
    error = std / count.sqrt()
    if label in {"ci_low_95", "ci_high_95"}:
        half_width = t_quantiles(count) * error
        return finite(mean - half_width if label == "ci_low_95" else mean + half_width)
    if label in {"std", "sem", "se"}:
        return finite(std if label == "std" else error)
    raw = column(f"{label} {value}")
    return finite(unsigned_zero(raw) if label in INTERPOLATED else raw)
