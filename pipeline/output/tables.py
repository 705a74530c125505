"""Frames → tables in the formats that people and programs read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import IO, Any, Literal

import polars as pl

Format = Literal["table", "csv", "json", "jsonl", "md", "parquet"]
PLAIN_BELOW, DIGITS_BELOW = 1000, 1e15
"""From where on numbers have no four digits, and from where on they are written with an exponent."""


def plain_table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A plain table: text to the left, numbers to the right, never cut."""
    content = [list(row) for row in rows]
    shown = [[cell(value) for value in row] for row in content]
    headers = [cell(header) for header in headers]
    columns = list(zip(headers, *shown, strict=True))
    widths = [max(map(len, column)) for column in columns]
    right = [_is_numeric([row[place] for row in content]) for place in range(len(headers))]
    lines = []
    for row in (list(headers), *shown):
        cells = [
            text.rjust(width) if to_the_right else text.ljust(width)
            for text, width, to_the_right in zip(row, widths, right, strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def write_table(frame: pl.DataFrame, file: IO[bytes], form: Format, *, header: bool = True) -> None:
    """Writes a frame as a table: UTF-8, LF, JSON without NaN, numbers to their last digit but in `table` and `md`.

    Args:
        frame: What to write.
        file: Where to.
        form: How; a list is JSON text in `table`, `md` and `csv`.
        header: Whether CSV starts with the names of the columns.
    """
    if form == "parquet":
        frame.write_parquet(file, compression="zstd")
    elif form == "jsonl":
        _finite(frame).write_ndjson(file)
    elif form == "json":
        lines = b",\n".join(_json(row) for row in _rows(frame))
        file.write(b"[" + lines + b"]\n")
    elif form == "csv":
        _with_flat_lists(_finite(frame)).write_csv(file, include_header=header)
    else:
        rows = [[_flat(value) for value in row.values()] for row in _rows(frame)]
        text_table = plain_table(frame.columns, rows) if form == "table" else _markdown(frame.columns, rows)
        file.write(text_table.encode() + b"\n")


def cell(value: object) -> str:
    """A value as a table for people shows it."""
    if value is None:
        return "-"
    if isinstance(value, float):
        if abs(value) < PLAIN_BELOW or abs(value) >= DIGITS_BELOW:
            return f"{value:,.4g}"
        return f"{value:,.0f}" if value.is_integer() else f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) else on_one_line(str(value))


def _rows(frame: pl.DataFrame) -> Iterable[dict[str, Any]]:
    """The rows, their values as JSON has them: no NaN, times as text."""
    return _finite(frame).iter_rows(named=True)


def _finite(frame: pl.DataFrame) -> pl.DataFrame:
    number = pl.selectors.float()
    return frame.with_columns(pl.when(number.is_finite()).then(number).name.keep())


def _with_flat_lists(frame: pl.DataFrame) -> pl.DataFrame:
    """Lists and objects as JSON text, which is all that CSV can hold of them."""
    nested = [frame[name] for name, dtype in frame.schema.items() if dtype.is_nested()]
    texts = [
        pl.Series(one.name, [None if value is None else _flat(value) for value in one.to_list()]) for one in nested
    ]
    return frame.with_columns(text.cast(pl.String) for text in texts)


def _json(row: dict[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=str).encode()


def _flat(value: object) -> object:
    """A value as one cell: lists, objects and flags as JSON."""
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, (list, dict, bool)) else value


def _markdown(headers: Sequence[str], rows: list[list[object]]) -> str:
    ruler = ["---:" if _is_numeric([row[place] for row in rows]) else "---" for place in range(len(headers))]
    body = [[cell(value).replace("|", "\\|") for value in row] for row in rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in ([cell(h).replace("|", "\\|") for h in headers], ruler, *body))


def _is_numeric(values: Sequence[object]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in known)


def on_one_line(text: str) -> str:
    """Text whose control characters are escaped, so that they move no terminal's cursor and break no line."""
    return "".join(letter if letter.isprintable() else json.dumps(letter)[1:-1] for letter in text)
