"""Tables that come in pieces → one file, whose bytes do not depend on how they were cut."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import IO

import polars as pl
from polars.io.plugins import register_io_source

from pipeline.frames.lazy import system_errors
from pipeline.output.tables import write_table

ROWS_IN_A_GROUP = 1 << 16


def write_parquet(tables: Iterable[pl.DataFrame], file: IO[bytes], facts: Mapping[str, str]) -> int:
    """Writes tables one after another as Parquet (zstd); how many rows they have.

    Args:
        tables: At least one; all have the same columns.
        file: Where to.
        facts: What the file says of itself.

    Raises:
        OSError: The file cannot be written.
    """
    groups = _groups(tables)
    first = next(groups)
    written = [len(first)]

    def batches(*_asked: object) -> Iterator[pl.DataFrame]:
        yield first
        for group in groups:
            written.append(len(group))
            yield group

    rows = register_io_source(batches, schema=first.schema)
    with system_errors(), ThreadPoolExecutor(1) as beside:  # so that a signal ends the command at once
        beside.submit(
            rows.sink_parquet,
            file,
            compression="zstd",
            metadata=dict(facts),
            row_group_size=ROWS_IN_A_GROUP,
            engine="streaming",
        ).result()
    return sum(written)


def write_csv(tables: Iterable[pl.DataFrame], file: IO[bytes]) -> int:
    """Writes tables one after another as CSV with one header; how many rows they have."""
    written = 0
    for number, table in enumerate(tables):
        write_table(table, file, "csv", header=number == 0)
        written += len(table)
    return written


def _groups(tables: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """The same rows in tables of one size, the last one smaller; at least one table, with or without rows."""
    rest: pl.DataFrame | None = None
    for table in tables:
        rest = table if rest is None else pl.concat([rest, table])
        while len(rest) > ROWS_IN_A_GROUP:
            yield rest.head(ROWS_IN_A_GROUP).rechunk()
            rest = rest.slice(ROWS_IN_A_GROUP)
    if rest is not None:
        yield rest.rechunk()
