"""The fields of rows → their types, coverage and range."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from pipeline import names
from pipeline.errors import SourceError
from pipeline.frames.metrics import raw_column, shape_of
from pipeline.frames.tally import Tally, Types
from pipeline.sources.files import Source
from pipeline.sources.reading import Metric

Number = int | float
NUMBER = "number"
NUMBERS = ("whole", "fractional", NUMBER)


@dataclass(frozen=True)
class FieldType:
    """One type of a field.

    Attributes:
        type: text, whole, fractional, boolean, null, list or object; number under a nested object.
        rows: In how many rows the field is that.
        first: The first of them, as `file:line`.
    """

    type: str
    rows: int
    first: str


@dataclass(frozen=True)
class Field:
    """A field of the objects on lines, also on lines that cannot be used.

    Attributes:
        role: rollouts, usage (`response.usage` of rollouts) or inputs.
        field: Its name.
        rows: How many rows have it.
        coverage: Which share of the rows, from 0 to 1.
        first: The first of them, as `file:line`.
        types: Its types in the order of their first line.
        repeated: In how many rows its name is there more than once; the last one counts.
        min: The least number of usable rows, booleans as 0 and 1; None where it has no number or none was read.
        max: The greatest.
        not_finite: How many are NaN, Infinity or beyond a double.
    """

    role: str
    field: str
    rows: int
    coverage: float
    first: str
    types: tuple[FieldType, ...]
    repeated: int
    min: Number | None
    max: Number | None
    not_finite: int


@dataclass(frozen=True)
class Column:
    """A column of an export: its name, its type, and how many rows have a value."""

    column: str
    type: str
    values: int


@dataclass(frozen=True)
class Export:
    """Rollouts that are kept as Parquet."""

    file: str
    rows: int
    columns: tuple[Column, ...]


class Range(NamedTuple):
    """How many numbers there are, the least and the greatest of them, and how many are not finite."""

    rows: int
    least: Any
    greatest: Any
    not_finite: int


def fields_of_rollouts(tally: Tally, frame: pl.DataFrame, sources: Sequence[Source]) -> list[Field]:
    """The fields of rollouts and of their usage.

    Args:
        tally: What was counted.
        frame: As `scan_rollouts` gives it, collected.
        sources: The files.
    """
    of_lines = [source for source in sources if not source.is_export]
    ranges = _ranges(frame) | _index_ranges(frame)
    return [
        *_fields("rollouts", "row", tally, ranges, of_lines),
        *_nested("rollouts", "row nested", frame, ranges),
        *_fields("usage", "usage", tally, ranges, of_lines),
        *_nested("usage", "usage nested", frame, ranges),
    ]


def fields_of_inputs(tally: Tally, frame: pl.DataFrame, sources: Sequence[Source]) -> list[Field]:
    """The fields of inputs; a range only for the indices.

    Args:
        tally: What was counted.
        frame: As `scan_inputs` gives it, collected.
        sources: The files.
    """
    return _fields("inputs", "row", tally, _index_ranges(frame), sources)


def export_of(source: Source) -> Export:
    """The columns of an export.

    Raises:
        SourceError: It cannot be read.
    """
    try:
        frame = pl.scan_parquet(source.path, glob=False)
        schema = frame.collect_schema()
        rows = frame.select(pl.len()).collect().item()
        values = frame.select(pl.all().count()).collect().row(0)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise SourceError(f"cannot be read: {error}", where=source.shown, hint="Export it again.") from error
    columns = zip(schema, map(str, schema.dtypes()), values, strict=True)
    return Export(source.shown, rows, tuple(Column(*column) for column in columns))


def _fields(role: str, at: str, tally: Tally, ranges: dict[Metric, Range], sources: Sequence[Source]) -> list[Field]:
    found = ((name, types) for (where, name), types in tally.fields.items() if where == at)
    return [_field(role, name, types, tally.objects, ranges.get((at, name)), sources) for name, types in found]


def _field(role: str, name: str, types: Types, objects: int, numbers: Range | None, sources: Sequence[Source]) -> Field:
    places = {kind: f"{sources[source].shown}:{line}" for kind, (source, line) in types.first.items()}
    rows = sum(types.rows.values())
    numeric = any(kind in types.rows for kind in NUMBERS)
    _, least, greatest, not_finite = numbers if numbers and numeric else (0, None, None, 0)
    return Field(
        role,
        name.encode("utf-8", "backslashreplace").decode(),
        rows,
        rows / objects,
        places[min(types.first, key=lambda kind: types.first[kind])],
        tuple(FieldType(kind, count, places[kind]) for kind, count in types.rows.items()),
        types.repeated,
        least,
        greatest,
        not_finite,
    )


def _ranges(frame: pl.DataFrame) -> dict[Metric, Range]:
    """The range of each metric where it stands."""
    expected: Counter[Metric] = Counter()
    for text, rows in frame.drop_nulls("_shape").group_by("_shape").len().iter_rows():
        for metric in (metric for part in shape_of(text) for metric in part):
            expected[metric] += rows
    found = {}
    for metric, rows in expected.items():
        numbers = _numbers(frame, metric)
        found[metric] = Range(rows, numbers.min(), numbers.max(), rows - numbers.count())
    return found


def _numbers(frame: pl.DataFrame, metric: Metric) -> pl.Series:
    """The finite numbers of a metric where it stands."""
    kept = raw_column(metric)
    return frame[kept if kept in frame.columns else metric[1]]


def _nested(role: str, at: str, frame: pl.DataFrame, ranges: dict[Metric, Range]) -> list[Field]:
    """The numbers under nested objects that were asked for, usable rows only."""
    usable = int(frame["_problem"].is_null().sum())
    found = []
    for metric in (metric for metric in ranges if metric[0] == at):
        rows, least, greatest, not_finite = ranges[metric]
        first = frame.filter(_numbers(frame, metric).is_not_null()).select("_source", "_line").head(1).rows()
        place = f"{first[0][0]}:{first[0][1]}" if first else ""
        types = (FieldType(NUMBER, rows, place),)
        found.append(Field(role, metric[1], rows, rows / usable, place, types, 0, least, greatest, not_finite))
    return found


def _index_ranges(frame: pl.DataFrame) -> dict[Metric, Range]:
    return {("row", name): Range(frame[name].count(), frame[name].min(), frame[name].max(), 0) for name in names.KEY}
