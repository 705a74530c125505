"""Which name a number goes by, and in which order the metrics stand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

import polars as pl

from pipeline import names
from pipeline.sources.reading import Metric, Shape

RAW = "_raw "
MADE = ("row", "row nested", "usage nested")


class Settled(NamedTuple):
    """Rows whose metrics have their final names and order.

    Attributes:
        frame: The rows: internal columns, then a column a metric.
        final: Where a metric stands and its name there → its final name.
        measured: The metrics that have a measured number, in their order.
    """

    frame: pl.DataFrame
    final: dict[Metric, str]
    measured: list[Metric]


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


def with_final_names(rows: pl.DataFrame, raw: Mapping[Metric, pl.Series], measured: pl.Series) -> Settled:
    """Rows with a column a metric, in the order of their first number over the measured rows sorted by key.

    A name that any measured rollout has in its usage means usage everywhere; a top-level twin becomes `row/NAME`
    and is left out where it equals that rollout's usage value. `usage.reward` is `usage/reward`, a metric called
    `rollout_id` is `row/rollout_id`. A made name that a literal field already has is prefixed again. Metrics without
    a measured number come last. Metrics whose names might be decided otherwise once other rows are measured are kept
    as they stand too, in columns that `settled` looks for.

    Args:
        rows: Both indices, `_shape` and other internal columns.
        raw: The numbers of each metric where it stands.
        measured: Which rows count (Boolean).
    """
    place = _Places(rows, measured)
    in_usage = {name for at, name in raw if at == "usage" and name != names.REWARD and _any(raw[at, name], measured)}
    numbers = {metric: _without_twin(metric, raw, in_usage) for metric in raw}
    ordered = sorted(raw, key=lambda metric: place.of_first_number(numbers[metric], metric))
    counted = [metric for metric in ordered if _any(numbers[metric], measured)]
    final = _final_names(counted, [metric for metric in ordered if metric not in set(counted)], in_usage)
    names_met = [name for _, name in raw]
    kept = {
        raw_column(metric): raw[metric]
        for metric in ordered
        if final[metric] != metric[1] or names_met.count(metric[1]) > 1
    }
    columns = {final[metric]: numbers[metric] for metric in ordered}
    return Settled(pl.DataFrame({name: rows[name] for name in rows.columns} | kept | columns), final, counted)


def settled(frame: pl.DataFrame, measured: pl.Series) -> Settled:
    """The rows with names and order decided anew by which of them are measured, and only the metrics these have.

    Args:
        frame: As `scan_rollouts` or `align` gives it, collected.
        measured: Which rows count (Boolean).
    """
    rows = frame.select(name for name in frame.columns if name.startswith(names.INTERNAL) and not name.startswith(RAW))
    raw: dict[Metric, pl.Series] = {}
    for text in frame["_shape"].unique(maintain_order=True):
        for metric in (metric for part in shape_of(text) for metric in part):
            kept = raw_column(metric)
            column = kept if kept in frame.columns else metric[1]
            raw.setdefault(metric, frame[column].alias(kept))  # a series whose name is a pattern misbehaves
    found = with_final_names(rows, raw, measured)
    final = {metric: found.final[metric] for metric in found.measured}
    wanted = (*rows.columns, *final.values())
    return Settled(pl.DataFrame({name: found.frame[name] for name in wanted}), final, found.measured)


def _any(numbers: pl.Series, measured: pl.Series) -> bool:
    return bool((numbers.is_not_null() & measured).any())


class _Places:
    """Where a metric first has a number among the measured rows sorted by key, and where it stands in that row."""

    def __init__(self, rows: pl.DataFrame, measured: pl.Series) -> None:
        keys = rows.select(*names.KEY).with_row_index("_row").filter(measured)
        self._rows = keys.sort(*names.KEY)["_row"]
        self._shapes = rows["_shape"]
        self._standing: dict[int, dict[Metric, int]] = {}

    def of_first_number(self, numbers: pl.Series, metric: Metric) -> tuple[int, int]:
        known = numbers.gather(self._rows).is_not_null()
        first = known.arg_max() if len(known) else None
        if first is None or not known[first]:
            return len(known), 0
        if first not in self._standing:
            top, usage = shape_of(self._shapes[int(self._rows[first])])
            self._standing[first] = {there: place for place, there in enumerate((*top, *usage))}
        return first, self._standing[first].get(metric, 0)


def _final_names(counted: list[Metric], others: list[Metric], usage: set[str]) -> dict[Metric, str]:
    """The name that each metric goes by; those with a measured number have the first choice."""
    literal = {"usage": usage, "row": {name for place, name in counted if place == "row"} - usage}
    final = {
        (place, name): name for place, name in counted if name in literal.get(place, ()) and name != names.ROLLOUT_ID
    }
    taken = set(final.values())
    for group, order in ((counted, ("usage", *MADE)), (others, ("row", "usage", *MADE))):
        for wanted in order:
            for metric in group:
                if metric[0] == wanted and metric not in final:
                    final[metric] = _free(*_first_choice(metric, usage), taken)
                    taken.add(final[metric])
    return final


def _first_choice(metric: Metric, usage: set[str]) -> tuple[str, str]:
    """The name that a metric would have, and the prefix that frees it where somebody has it."""
    place, name = metric
    if place.endswith("nested"):
        return name, f"{name.partition('/')[0]}/"
    if name == names.ROLLOUT_ID or (place == "row" and name in usage):
        return f"row/{name}", "row/"
    if place == "usage" and name == names.REWARD:
        return f"usage/{name}", "usage/"
    return name, f"{place}/"


def _free(name: str, prefix: str, taken: set[str]) -> str:
    """The name with as many prefixes as make it one that nobody has."""
    while name in taken:
        name = prefix + name
    return name


def _without_twin(metric: Metric, raw: Mapping[Metric, pl.Series], usage: set[str]) -> pl.Series:
    """The numbers of a metric, without those that say no more than the usage value of the same name."""
    place, name = metric
    if place != "row" or name not in usage:
        return raw[metric]
    return raw[metric].set((raw[metric] == raw["usage", name]).fill_null(value=False), None)
