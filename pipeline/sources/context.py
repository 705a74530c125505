"""What rows are told apart by: the short texts at their top level, and the fields that were asked for."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline import names
from pipeline.sources import rows
from pipeline.sources.fields import Kinds

if TYPE_CHECKING:
    from pipeline.options import Asked

SHORT_BYTES = 128
NONE = -1
Scalar = float | str | bool | None


class Texts(NamedTuple):
    """A column of texts: the different ones, and which of them each row has (32-bit whole numbers, -1 for none)."""

    different: list[str]
    codes: bytes


class Context:
    """Collects the short texts and the fields asked for, row after row.

    Args:
        root: What the columns of short texts are named after: `_row.` or `_input.`.
        asked: The fields asked for.
    """

    def __init__(self, root: str, asked: Iterable[Asked]) -> None:
        self._root = root
        self._asked = tuple(asked)
        self._lookups = {key: rows.Last(key) for _, path in self._asked for key in path}
        self._places: dict[Kinds, list[tuple[_Column, int]]] = {}
        self._columns: dict[str, _Column] = {}
        self._fields: dict[str, list[Scalar]] = {column: [] for column, _ in self._asked}

    def add(self, number: int, row: Any, keys: tuple[str, ...], values: tuple[Any, ...]) -> None:
        """Adds the row of this number; rows that could not be used have none."""
        kinds = keys, tuple(map(type, values))
        places = self._places.get(kinds)
        if places is None:
            places = self._places[kinds] = self._texts_of(keys, values)
        for column, place in places:
            text = values[place]
            if len(text) <= SHORT_BYTES:
                column.add(number, text)
        for column_asked, path in self._asked:
            self._fields[column_asked].append(self._value(row, path))

    def texts(self, height: int) -> dict[str, Texts]:
        """The columns of short texts over this many rows."""
        return {name: column.over(height) for name, column in self._columns.items()}

    def fields(self) -> dict[str, list[Scalar]]:
        """The fields asked for, a value a row: a finite number, a text, a flag, or none."""
        return self._fields

    def _texts_of(self, keys: tuple[str, ...], values: tuple[Any, ...]) -> list[tuple[_Column, int]]:
        final = {key: place for place, key in enumerate(keys)}
        return [
            (self._columns.setdefault(self._root + key, _Column()), place)
            for key, place in final.items()
            if type(values[place]) is str and not key.startswith(names.INTERNAL) and rows.encodable(key)
        ]

    def _value(self, row: Any, path: tuple[str, ...]) -> Scalar:
        value = row
        for key in path:
            if type(value) not in rows.OBJECTS:
                return None
            value = self._lookups[key](value)
        return scalar(value)


class _Column:
    """One column of short texts, while rows are added."""

    def __init__(self) -> None:
        self._different: dict[str, int] = {}
        self._rows: list[int] = []
        self._codes: list[int] = []

    def add(self, number: int, text: str) -> None:
        code = self._different.get(text)
        if code is None:
            if not _is_short(text):
                return
            code = self._different[text] = len(self._different)
        self._rows.append(number)
        self._codes.append(code)

    def over(self, height: int) -> Texts:
        codes = array("i", [NONE]) * height
        for number, code in zip(self._rows, self._codes, strict=True):
            codes[number] = code
        return Texts(list(self._different), codes.tobytes())


def scalar(value: object) -> Scalar:
    """A number, text or flag that a column can hold; None for anything else."""
    if type(value) is str:
        return value if value.isascii() or rows.encodable(value) else None
    if type(value) is int:
        return value if value in rows.INDEX_RANGE else _as_double(value)
    if type(value) is float:
        return value if math.isfinite(value) else None
    return value if type(value) is bool else None


def _as_double(value: int) -> float | None:
    try:
        return float(value)
    except OverflowError:
        return None


def _is_short(text: str) -> bool:
    return text.isascii() or (rows.encodable(text) and len(text.encode()) <= SHORT_BYTES)
