"""Which name a number goes by, and in which order the metrics stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import polars as pl

from pipeline import names
from pipeline.frames.metrics import RAW, raw_column, shape_of
from pipeline.sources.reading import Metric

MADE = ("row", "row nested", "usage nested")


class First(NamedTuple):
    """Where a metric first has a number: in which row of those sorted by key, and where it stands there."""

    task: int
    rollout: int
    row: int
    place: int


class Standing(NamedTuple):
    """Where metrics first have a number among the measured rows of some tasks.

    Attributes:
        all: Each metric that has any.
        beside_twin: Top-level metrics of a name that is in usage too: where they first say more than usage does.
    """

    all: dict[Metric, First]
    beside_twin: dict[Metric, First]


class Naming(NamedTuple):
    """Which name each metric goes by.

    Attributes:
        final: Where a metric stands and its name there → its final name, in the order of the metrics.
        measured: The metrics that have a measured number, in their order.
        usage: The names that mean usage.
    """

    final: dict[Metric, str]
    measured: list[Metric]
    usage: frozenset[str]


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
    names_of = naming(raw, standing(rows, raw, measured))
    return Settled(named(rows, raw, names_of), names_of.final, names_of.measured)


def standing(rows: pl.DataFrame, raw: Mapping[Metric, pl.Series], measured: pl.Series) -> Standing:
    """Where the metrics first have a number; what the rows of other tasks say is added by `together`.

    Args:
        rows: Both indices and `_shape`, those of one key in the order they were read.
        raw: The numbers of each metric where it stands.
        measured: Which rows count (Boolean).
    """
    firsts = _Firsts(rows, measured)
    twins = {("row", name) for at, name in raw if at == "usage" and name != names.REWARD} & raw.keys()
    return Standing(
        firsts.of_each(raw), firsts.of_each({metric: _without_twin(metric, raw, {metric[1]}) for metric in twins})
    )


def together(standings: Iterable[Standing]) -> Standing:
    """What the rows of different tasks say, as if they were read in one go."""
    whole = Standing({}, {})
    for one in standings:
        for found, theirs in zip(whole, one, strict=True):
            for metric, first in theirs.items():
                found[metric] = min(first, found.get(metric, first))
    return whole


def naming(metrics: Iterable[Metric], standing: Standing) -> Naming:
    """The names and the order of metrics, by the rules of `with_final_names`.

    Args:
        metrics: All there are, in the order in which they were met.
        standing: Where they first have a number, of all rows.
    """
    usage = frozenset(name for at, name in standing.all if at == "usage" and name != names.REWARD)

    def first(metric: Metric) -> First | None:
        place, name = metric
        return (standing.beside_twin if place == "row" and name in usage else standing.all).get(metric)

    ordered = sorted(metrics, key=lambda metric: (first(metric) is None, first(metric) or ()))
    counted = [metric for metric in ordered if first(metric) is not None]
    final = _final_names(counted, [metric for metric in ordered if first(metric) is None], usage)
    return Naming({metric: final[metric] for metric in ordered}, counted, usage)


def named(rows: pl.DataFrame, raw: Mapping[Metric, pl.Series], naming: Naming) -> pl.DataFrame:
    """The rows with a column a metric under its final name, in order, and what `settled` needs."""
    times_met = Counter(name for _, name in raw)
    kept = {
        raw_column(metric): raw[metric]
        for metric, final in naming.final.items()
        if final != metric[1] or times_met[metric[1]] > 1
    }
    columns = {final: _without_twin(metric, raw, naming.usage) for metric, final in naming.final.items()}
    return pl.DataFrame({name: rows[name] for name in rows.columns} | kept | columns)


def settled(frame: pl.DataFrame, measured: pl.Series) -> Settled:
    """The rows with names and order decided anew by which of them are measured, and only the metrics these have.

    Args:
        frame: As `scan_rollouts` or `align` gives it, collected.
        measured: Which rows count (Boolean).
    """
    rows = frame.select(name for name in frame.columns if name.startswith(names.INTERNAL) and not name.startswith(RAW))
    shapes = map(shape_of, frame["_shape"].unique(maintain_order=True))
    there = frozenset(frame.columns)
    raw: dict[Metric, pl.Series] = {}
    for metric in dict.fromkeys(metric for shape in shapes for part in shape for metric in part):
        kept = raw_column(metric)
        column = kept if kept in there else metric[1]
        raw[metric] = frame[column].alias(kept)  # a series whose name is a pattern misbehaves
    found = with_final_names(rows, raw, measured)
    final = {metric: found.final[metric] for metric in found.measured}
    wanted = (*rows.columns, *final.values())
    return Settled(pl.DataFrame({name: found.frame[name] for name in wanted}), final, found.measured)


class _Firsts:
    """Finds where metrics first have a number among the measured rows sorted by key."""

    def __init__(self, rows: pl.DataFrame, measured: pl.Series) -> None:
        keys = rows.select(*names.KEY).with_row_index("_row").filter(measured)
        self._keys = keys.sort(*names.KEY, "_row")
        self._shapes = rows["_shape"]
        self._places: dict[int, dict[Metric, int]] = {}

    def of_each(self, raw: Mapping[Metric, pl.Series]) -> dict[Metric, First]:
        """Those that have a number."""
        found = ((metric, self._first(metric, numbers)) for metric, numbers in raw.items())
        return {metric: first for metric, first in found if first is not None}

    def _first(self, metric: Metric, numbers: pl.Series) -> First | None:
        known = numbers.gather(self._keys["_row"]).is_not_null()
        first = known.arg_max() if len(known) else None
        if first is None or not known[first]:
            return None
        row, task, rollout = self._keys.row(first)
        if first not in self._places:
            top, usage = shape_of(self._shapes[row])
            self._places[first] = {there: place for place, there in enumerate((*top, *usage))}
        return First(task, rollout, first, self._places[first].get(metric, 0))


def _final_names(counted: list[Metric], others: list[Metric], usage: Collection[str]) -> dict[Metric, str]:
    """The name that each metric goes by; those with a measured number have the first choice."""
    literal = {"usage": usage, "row": {name for place, name in counted if place == "row"}.difference(usage)}
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


def _first_choice(metric: Metric, usage: Collection[str]) -> tuple[str, str]:
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


def _without_twin(metric: Metric, raw: Mapping[Metric, pl.Series], usage: Collection[str]) -> pl.Series:
    """The numbers of a metric, without those that say no more than the usage value of the same name."""
    place, name = metric
    if place != "row" or name not in usage:
        return raw[metric]
    return raw[metric].set((raw[metric] == raw["usage", name]).fill_null(value=False), None)
