"""Chunks of plain buffers → one frame of the rows, in the order of the sources."""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from pipeline import names
from pipeline.frames.metrics import raw_column, shape_text
from pipeline.sources.columns import WHOLE, Column
from pipeline.sources.context import Scalar
from pipeline.sources.files import Source
from pipeline.sources.reading import BadLine, Chunk, Shape
from pipeline.sources.readings import IN_PROCESS_BYTES

SHORT = "i"
BAD_LINE = {
    "_source": pl.UInt32,
    "_line": pl.Int64,
    "_offset": pl.Int64,
    "_length": pl.Int64,
    "_problem": pl.String,
    "_torn": pl.Boolean,
}


class Gathered:
    """The frames of the chunks so far, with line numbers that count from the start of each source.

    Attributes:
        shapes: Every shape met, at the number that `_shape` gives it.
        cells: How many values are gathered and not taken.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources
        self._few = sum(source.size for source in sources) < IN_PROCESS_BYTES
        self._frames: list[pl.DataFrame] = []
        self._bad: list[BadLine] = []
        self._lines_before = [0] * len(sources)
        self._fields: dict[str, list[Scalar]] = {}
        self._kinds: dict[str, set[type]] = {}
        self.shapes: dict[Shape, int] = {}
        self.cells = 0

    def add(self, chunk: Chunk, segment_sources: Sequence[int]) -> None:
        """Takes the next chunk; `segment_sources` are the sources of its segments, in order."""
        width, cells = len(chunk.columns), self._numbers(chunk.cells, WHOLE)
        data = {name: self._column(cells[place::width], pl.Int64) for place, name in enumerate(chunk.columns)}
        height = len(cells) // width
        first, last = segment_sources[0], segment_sources[-1]
        before = pl.Series(self._lines_before[first : last + 1], dtype=pl.Int64)
        data["_line"] = data["_line"] + before.gather(data["_source"] - first)
        data["_source"] = data["_source"].cast(pl.UInt32)
        labels = data.pop("_labels")
        for number, label in enumerate(chunk.labels):
            data[label] = pl.Series([texts[number] for texts in chunk.texts], dtype=pl.String).gather(labels)
        if "_shape" in data:
            numbers = [self.shapes.setdefault(shape, len(self.shapes)) for shape in chunk.shapes]
            data["_shape"] = pl.Series(numbers, dtype=pl.UInt32).gather(data["_shape"])
            data["_masked"] = data["_masked"].cast(pl.Boolean)
            data["_flags"] = data["_flags"].cast(pl.UInt8)
        for metric, column in chunk.metrics.items():
            data[raw_column(metric)] = self._series(column, height)
        for name, texts in chunk.context.items():
            codes = self._column(self._numbers(texts.codes, SHORT), pl.Int32)
            data[name] = pl.Series(texts.different, dtype=pl.String).gather(codes.set(codes < 0, None))
        for name, values in chunk.fields.items():
            self._fields.setdefault(name, []).extend(values)
            self._kinds.setdefault(name, set()).update(map(type, values))
        self.cells += height * (len(data) + len(chunk.fields))
        self._frames.append(pl.DataFrame(data))
        self._bad += [bad._replace(line=bad.line + self._lines_before[bad.source]) for bad in chunk.bad]
        for source, lines in zip(segment_sources, chunk.lines, strict=True):
            self._lines_before[source] += lines

    def take(self) -> pl.DataFrame:
        """The usable rows gathered since the last time, the fields asked for as JSON, for their type is not known yet.

        They are forgotten, but for their columns.
        """
        good = self._good()
        self._frames, self.cells = [good.clear()], 0
        asked = {name: pl.Series(map(json.dumps, values), dtype=pl.String) for name, values in self._fields.items()}
        self._fields = {name: [] for name in self._fields}
        return self._told(good.with_columns(**asked))

    @property
    def fields(self) -> dict[str, type[pl.DataType]]:
        """The fields asked for, with the types that they have so far."""
        return {name: _type(kinds - {type(None)}) for name, kinds in self._kinds.items()}

    def frame(self) -> pl.DataFrame:
        """All rows that were not taken; a bad line is a row whose `_problem` says why, with no other values."""
        bad = pl.DataFrame(
            [(b.source, b.line, b.offset, b.length, b.reason, b.torn) for b in self._bad], schema=BAD_LINE, orient="row"
        )
        asked = [pl.DataFrame({name: field(self._fields[name], dtype) for name, dtype in self.fields.items()})]
        good = pl.concat([self._good(), *asked], how="horizontal") if self._fields else self._good()
        return self._told(pl.concat([good, bad], how="diagonal_relaxed", rechunk=True))

    def _numbers(self, buffer: bytes, typecode: str) -> Any:
        """The numbers in a buffer as a sequence that a column is made of; NumPy is quicker, but its import is not."""
        if self._few:
            return array(typecode, buffer)
        import numpy as np

        return np.frombuffer(buffer, dtype=typecode)

    def _column(self, numbers: Any, dtype: type[pl.DataType]) -> pl.Series:
        """The numbers as a column; those of NumPy have their type already, and asking for it is slow."""
        return pl.Series(numbers, dtype=dtype) if self._few else pl.Series(numbers)

    def _series(self, column: Column, height: int) -> pl.Series:
        """A column with null for the rows that have no number."""
        dtype = pl.Int64 if column.typecode == WHOLE else pl.Float64
        values = self._column(self._numbers(column.values, column.typecode), dtype)
        if column.rows is None:
            return values
        rows = self._column(self._numbers(column.rows, SHORT), pl.Int32)
        return pl.Series([None], dtype=dtype).new_from_index(0, height).scatter(rows, values)

    def _good(self) -> pl.DataFrame:
        return pl.concat(self._frames, how="diagonal_relaxed", rechunk=True) if self._frames else pl.DataFrame()

    def _told(self, whole: pl.DataFrame) -> pl.DataFrame:
        """The rows with the texts that their numbers stand for."""
        paths = pl.Series([source.shown for source in self._sources], dtype=pl.String)
        told = [paths.gather(whole["_source"]).alias("_source")]
        if "_shape" in whole.columns:
            texts = pl.Series([shape_text(shape) for shape in self.shapes], dtype=pl.String)
            told.append(texts.gather(whole["_shape"]).alias("_shape"))
        return whole.with_columns(*told, _file=pl.col("_source"))


def empty_frame(texts: Sequence[str]) -> pl.DataFrame:
    """No rows, with the columns that every grain has."""
    schema: dict[str, pl.DataType | type[pl.DataType]] = {names.TASK: pl.Int64, names.ROLLOUT: pl.Int64}
    places = BAD_LINE | {"_source": pl.String, "_file": pl.UInt32}
    return pl.DataFrame(schema=schema | places | dict.fromkeys(texts, pl.String))


def with_fields(rows: pl.DataFrame, fields: Mapping[str, type[pl.DataType]]) -> pl.DataFrame:
    """Rows as `Gathered.take` gives them, with fields in the types that they have over all rows."""
    return rows.with_columns(
        field([json.loads(text) for text in rows[name]], dtype).alias(name) for name, dtype in fields.items()
    )


def field(values: Sequence[Scalar], dtype: type[pl.DataType]) -> pl.Series:
    """The values of a field as one column; numbers and flags among texts are JSON."""
    if dtype == pl.Float64:
        return pl.Series([None if value is None else float(value) for value in values], dtype=dtype)
    if dtype == pl.String:
        values = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
    return pl.Series(values, dtype=dtype)


def _type(kinds: set[type]) -> type[pl.DataType]:
    """The type of a field whose values are of these kinds: flags, whole numbers, numbers, or else texts."""
    if kinds <= {bool}:
        return pl.Boolean
    if kinds <= {int}:
        return pl.Int64
    return pl.Float64 if kinds <= {int, float} else pl.String
