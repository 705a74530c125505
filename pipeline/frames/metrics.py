"""Which name a number goes by, and in which order the metrics stand."""

from __future__ import annotations

import json
from collections.abc import Callable

import polars as pl

from pipeline import names
from pipeline.frames.chunks import PLACES

ROW, USAGE = PLACES["row"], PLACES["usage"]


def metric_columns(frame: pl.DataFrame | pl.Schema) -> list[str]:
    """The metric columns of a frame: all whose names do not start with `_`."""
    columns = frame.columns if isinstance(frame, pl.DataFrame) else frame.names()
    return [name for name in columns if not name.startswith(names.INTERNAL)]


def without_infinities(frame: pl.DataFrame) -> pl.DataFrame:
    """NaN, Infinity and numbers beyond a double are no numbers; `_unfinite` (UInt32) counts them in each row."""
    odd = [name for name in metric_columns(frame) if frame[name].dtype.is_float() and not frame[name].is_finite().all()]
    counts = pl.zeros(len(frame), pl.UInt32, eager=True)
    cleaned: dict[str, pl.Series] = {}
    for name in odd:
        infinite = (~frame[name].is_finite()).fill_null(value=False)
        cleaned[name] = frame[name].set(infinite, None)
        counts += infinite.cast(pl.UInt32)
    columns = {name: cleaned.get(name, frame[name]) for name in frame.columns}
    return pl.DataFrame(columns | {"_unfinite": counts})


def resolve_names(frame: pl.DataFrame, measured: pl.Series) -> tuple[pl.DataFrame, Callable[[str, str], str]]:
    """Gives the raw columns of both places their final names.

    A name that any measured rollout has in its usage means usage everywhere; a top-level twin becomes `row/NAME`
    and is left out where it equals that rollout's usage value. `usage.reward` is `usage/reward`, a metric called
    `rollout_id` is `row/rollout_id`. A made name that a literal field already has is prefixed again.

    Args:
        frame: Columns named by place (one letter) and name, beside internal ones.
        measured: Which rows count for deciding (Boolean).

    Returns:
        The frame with final names, and the function (place, name) → final name.
    """
    raw = metric_columns(frame)
    at = {place: [name[1:] for name in raw if name.startswith(letter)] for place, letter in PLACES.items()}
    top, usage = at["row"], at["usage"]
    owned = {name for name in usage if frame[USAGE + name].filter(measured).is_not_null().any()} - {names.REWARD}
    taken = {name for name in top if name not in owned} | owned
    taken.discard(names.ROLLOUT_ID)
    final: dict[str, str] = {}
    for name in usage:
        if name == names.ROLLOUT_ID:
            final[USAGE + name] = _made("row/", name, taken)
        elif name in owned or (name != names.REWARD and name not in taken):
            final[USAGE + name] = name
            taken.add(name)
        else:
            final[USAGE + name] = _made("usage/", name, taken)
    for name in top:
        made = name in owned or name == names.ROLLOUT_ID
        final[ROW + name] = _made("row/", name, taken) if made else name
    for place in ("row nested", "usage nested"):
        for name in at[place]:
            final[PLACES[place] + name] = _free(name, name.partition("/")[0] + "/", taken)
    differing = {
        ROW + name: frame[ROW + name].set(_equal(frame[ROW + name], frame[USAGE + name]), None)
        for name in top
        if name in owned
    }
    renamed = {final.get(name, name): differing.get(name, frame[name]) for name in frame.columns}
    return pl.DataFrame(renamed), lambda place, name: final[PLACES[place] + name]


def in_first_seen_order(frame: pl.DataFrame, measured: pl.Series) -> pl.DataFrame:
    """The frame with its metrics in the order of their first number over the measured rows sorted by key.

    Within a row its top-level fields come before its usage fields; metrics without any measured number come last.

    Args:
        frame: Rows with both indices, `_shape` and metrics.
        measured: Which rows count (Boolean).
    """
    metrics = metric_columns(frame)
    rows = frame.filter(measured).sort(names.KEY)
    never = len(rows)
    first = {name: _first_number(rows[name], never) for name in metrics}
    places: dict[int, dict[str, int]] = {}
    for row in {row for row in first.values() if row < never}:
        top, usage = json.loads(rows["_shape"][row])
        places[row] = {name: place for place, name in enumerate([*top, *usage])}
    ordered = sorted(metrics, key=lambda name: (first[name], places.get(first[name], {}).get(name, 0)))
    internal = [name for name in frame.columns if name.startswith(names.INTERNAL)]
    return pl.DataFrame({name: frame[name] for name in (*internal, *ordered)})


def _first_number(column: pl.Series, never: int) -> int:
    known = column.is_not_null()
    place = known.arg_max()
    return place if place is not None and known[place] else never


def _equal(one: pl.Series, other: pl.Series) -> pl.Series:
    return (one == other).fill_null(value=False)


def _made(prefix: str, name: str, taken: set[str]) -> str:
    return _free(prefix + name, prefix, taken)


def _free(name: str, prefix: str, taken: set[str]) -> str:
    """The name with as many prefixes as make it one that nobody has."""
    while name in taken:
        name = prefix + name
    taken.add(name)
    return name
