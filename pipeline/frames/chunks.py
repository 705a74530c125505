"""Chunks of plain buffers → one frame of the rows, in the order of the sources."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import polars as pl

from pipeline import names
from pipeline.frames.metrics import raw_column, shape_text
from pipeline.sources.columns import Column
from pipeline.sources.context import Scalar
from pipeline.sources.files import Source
from pipeline.sources.reading import BadLine, Chunk, Shape

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
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        import numpy as np

        self._sources = sources
        self._frames: list[pl.DataFrame] = []
        self._bad: list[BadLine] = []
        self._lines_before = np.zeros(max(1, len(sources)), dtype=np.int64)
        self._fields: dict[str, list[Scalar]] = {}
        self.shapes: dict[Shape, int] = {}

    def add(self, chunk: Chunk, segment_sources: Iterable[int]) -> None:
        """Takes the next chunk; `segment_sources` are the sources of its segments."""
        import numpy as np

        cells = np.frombuffer(chunk.cells, dtype=np.int64).reshape(-1, len(chunk.columns))
        data = {name: pl.Series(np.ascontiguousarray(cells[:, place])) for place, name in enumerate(chunk.columns)}
        data["_line"] = data["_line"] + pl.Series(self._lines_before[data["_source"].to_numpy()])
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
            data[raw_column(metric)] = _series(column)
        for name, texts in chunk.context.items():
            codes = pl.Series(np.frombuffer(texts.codes, dtype=np.int32))
            data[name] = pl.Series(texts.different, dtype=pl.String).gather(codes.set(codes < 0, None))
        for name, values in chunk.fields.items():
            self._fields.setdefault(name, []).extend(values)
        self._frames.append(pl.DataFrame(data))
        self._bad += [bad._replace(line=bad.line + int(self._lines_before[bad.source])) for bad in chunk.bad]
        for source, lines in zip(segment_sources, chunk.lines, strict=True):
            self._lines_before[source] += lines

    def frame(self) -> pl.DataFrame:
        """All rows; a bad line is a row whose `_problem` says why, with no other values."""
        bad = pl.DataFrame(
            [(b.source, b.line, b.offset, b.length, b.reason, b.torn) for b in self._bad], schema=BAD_LINE, orient="row"
        )
        asked = [pl.DataFrame({name: _field(values) for name, values in self._fields.items()})]
        good = pl.concat(self._frames, how="diagonal_relaxed", rechunk=True) if self._frames else pl.DataFrame()
        good = pl.concat([good, *asked], how="horizontal") if self._fields else good
        whole = pl.concat([good, bad], how="diagonal_relaxed", rechunk=True)
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


def _field(values: list[Scalar]) -> pl.Series:
    """The values of a field as one column: flags, whole numbers, numbers, or else texts, numbers as JSON."""
    kinds = {type(value) for value in values} - {type(None)}
    if kinds <= {bool}:
        return pl.Series(values, dtype=pl.Boolean)
    if kinds <= {int}:
        return pl.Series(values, dtype=pl.Int64)
    if kinds <= {int, float}:
        return pl.Series([None if value is None else float(value) for value in values], dtype=pl.Float64)
    texts = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
    return pl.Series(texts, dtype=pl.String)


def _series(column: Column) -> pl.Series:
    import numpy as np

    values = pl.Series(np.frombuffer(column.values, dtype=np.int64 if column.typecode == "q" else np.float64))
    if column.valid is None:
        return values
    return values.set(pl.Series(np.frombuffer(column.valid, dtype=np.uint8) == 0), None)
