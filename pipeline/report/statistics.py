"""Statistics of a run → a few tables for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import polars as pl

from pipeline.output.tables import cell

Row = dict[str, Any]
ALL = "(all)"


class Section(NamedTuple):
    """A table with what it shows.

    Attributes:
        title: One line.
        frame: The table.
    """

    title: str
    frame: pl.DataFrame


def sections(table: pl.DataFrame, *, rule: str, confidence: float) -> list[Section]:
    """The statistics of a run as tables: what there is, means, k rollouts, signal, variance, what is missing.

    Args:
        table: As `statistics` gives it.
        rule: When a rollout passes, in words.
        confidence: How much the intervals cover.
    """
    own = table.columns[: table.columns.index("part")]
    rows = table.to_dicts()
    parts = {part: [row for row in rows if row["part"] == part] for part in table["part"].unique()}
    intervals = list(dict.fromkeys(row["interval"] for row in rows if row["interval"]))
    of_k = [row for same in _gathered([*parts.get("passing", ()), *parts.get("majority", ())], own) for row in same]
    told = f"({confidence * 100:g} % intervals; passes: {rule})"
    mixed = "Signal: share of tasks of which some rollouts pass and some fail, now and expected of k new rollouts"
    found = [
        Section("How much there is", _complete(parts.get("completeness", []), own)),
        Section(f"Over rollouts {told}", _means(parts.get("means", []), own, intervals)),
        Section(f"Over tasks, of k rollouts each {told}", _means(of_k, own, intervals)),
        Section(f"{mixed} {told}", _means(parts.get("signal", []), own, intervals)),
        Section("Variance of scores", _wide(parts.get("variance", []), own, "note")),
        Section("Mean score if rollouts without a score are …", _bounds(parts.get("missing", []), own)),
    ]
    return [section for section in found if len(section.frame)]


def _group(row: Row, own: Sequence[str]) -> dict[str, str]:
    """The columns that a row is told by, as text."""
    scope = row["scope"]
    shown = {}
    for place, name in enumerate(own[1:]):
        outside = scope == "all" or (scope == "agent" and place > 0)
        shown[name] = ALL if outside else cell(row[name])
    return shown


def _gathered(rows: Iterable[Row], key: Sequence[str]) -> Iterator[list[Row]]:
    """Rows that have the same key, in the order of the first of them."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in key), []).append(row)
    yield from found.values()


def _complete(rows: Sequence[Row], own: Sequence[str]) -> pl.DataFrame:
    shown = []
    for same in _gathered(rows, own):
        counts = {row["figure"]: _whole(row["value"]) for row in same if row["failure_class"] is None}
        classes = [(int(row["value"]), row["failure_class"]) for row in same if row["failure_class"] is not None]
        lost = ", ".join(f"{name} {number:,}" for number, name in sorted(classes, key=lambda one: (-one[0], one[1])))
        shown.append({**_group(same[0], own), "tasks": same[0]["tasks"], **counts, "without score": lost or None})
    return _frame(shown)


def _means(rows: Sequence[Row], own: Sequence[str], intervals: Sequence[str]) -> pl.DataFrame:
    shown = []
    for same in _gathered(_without_repetition(rows, own), [*own, "figure", "k"]):
        first = same[0]
        limits = {row["interval"]: _limits(row, first["value"]) for row in same}
        shown.append(
            {
                **_group(first, own),
                "figure": shown_name(first["figure"], first["k"]),
                "value": first["value"],
                **{name: limits.get(name) for name in intervals},
                "tasks": first["tasks"],
                "rollouts": first["rollouts"],
            }
        )
    frame = _frame(shown)
    return frame.select(one for one in frame if one.name not in intervals or one.count())


def _without_repetition(rows: Sequence[Row], own: Sequence[str]) -> Iterator[Row]:
    """The rows, but of a figure that has no value for any k, and for one reason, those of no k in particular."""
    for same in _gathered(rows, [*own, "figure"]):
        nothing = len({row["note"] for row in same}) == 1 and all(row["value"] is None for row in same)
        yield from [row | {"k": None} for row in same if row["k"] == same[0]["k"]] if nothing else same


def shown_name(figure: str, k: int | None) -> str:
    """A figure with its k: pass@4."""
    return figure if k is None else f"{figure.removesuffix('k')}{k}"


def _limits(row: Row, value: float | None) -> str | None:
    """An interval as text, or why there is none; first what it is about, if that is not the value in its column."""
    if row["low"] is None:
        return f"({row['note']})"
    beside = f" ({row['note']})" if row["note"] else ""
    about = "" if cell(row["value"]) == cell(value) else f"{cell(row['value'])}: "
    return f"{about}{cell(row['low'])} … {cell(row['high'])}{beside}"


def _wide(rows: Sequence[Row], own: Sequence[str], *more: str) -> pl.DataFrame:
    """A row a group, a column a figure."""
    shown = []
    for same in _gathered(rows, own):
        figures = {row["figure"]: row["value"] for row in same}
        beside = {name: same[0][name] for name in ("tasks", "rollouts", *more)}
        shown.append({**_group(same[0], own), **figures, **beside})
    return _frame(shown)


def _bounds(rows: Sequence[Row], own: Sequence[str]) -> pl.DataFrame:
    shown = []
    for same in _gathered(rows, [*own, "failure_class"]):
        figures = {row["figure"]: row["value"] for row in same}
        there, whole = same[0]["rollouts"], same[-1]["rollouts"]
        without = None if whole is None else whole - there
        shown.append(
            {
                **_group(same[0], own),
                "of class": same[0]["failure_class"] or "any",
                "scored": there,
                "without": without,
                **{name.removeprefix("if "): value for name, value in figures.items()},
                "note": same[-1]["note"],
            }
        )
    return _frame([row for row in shown if row["without"] != 0])


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _frame(rows: Sequence[Row]) -> pl.DataFrame:
    return pl.DataFrame(rows, infer_schema_length=None)
