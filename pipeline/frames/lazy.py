"""A LazyFrame that reads its sources once, when it is first needed, and keeps what it read."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping

import polars as pl
import polars.selectors as cs
from polars.io.plugins import register_io_source

_failures: list[BaseException] = []
"""What went wrong in the last collection: Polars may read in any of its threads. Only one thread at a time may read."""


def lazy_frame(read: Callable[[], pl.DataFrame]) -> pl.LazyFrame:
    """A LazyFrame over what `read` gives; it is called at most once, however often the frame is collected."""
    lock = threading.Lock()
    kept: list[pl.DataFrame] = []

    def frame() -> pl.DataFrame:
        with lock:
            if not kept:
                try:
                    kept.append(read())
                except BaseException as error:
                    _failures.append(error)
                    raise
            return kept[0]

    def batches(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, _batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        found = frame().lazy()
        if predicate is not None:
            found = found.filter(predicate)
        if with_columns is not None:
            found = found.select(cs.by_name(with_columns))
        yield (found if n_rows is None else found.head(n_rows)).collect()

    return register_io_source(batches, schema=lambda: frame().schema, is_pure=True)


def with_missing(rows: pl.LazyFrame, columns: Mapping[str, pl.DataType]) -> pl.LazyFrame:
    """The rows with these columns: null where they are not there, as they are where they are."""
    return rows.pipe_with_schema(
        lambda there, schema: there.with_columns(
            pl.lit(None, dtype).alias(name) for name, dtype in columns.items() if name not in schema
        )
    )


@contextlib.contextmanager
def system_errors() -> Iterator[None]:
    """Raises an error of the system as what it is, which Polars tells by its number only.

    Raises:
        OSError: Polars could not read or write a file.
    """
    try:
        yield
    except pl.exceptions.ComputeError as error:
        number = re.search(r"\(os error (\d+)\)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1]))) from error


def collect_all(frames: Iterable[pl.LazyFrame]) -> list[pl.DataFrame]:
    """Collects LazyFrames in one go; what went wrong while reading is raised as it was.

    The in-memory engine gives the same last digits whatever the number of threads, and is the faster one for frames
    that are in memory anyway. Polars turns an exception from reading into one of its own without a cause.

    Raises:
        RollprofError: A source could not be read.
        KeyboardInterrupt: The user interrupted the reading.
    """
    _failures.clear()
    try:
        return pl.collect_all(frames, engine="in-memory")
    except Exception:
        if _failures:
            raise _failures[0] from None
        raise


def collect(frame: pl.LazyFrame) -> pl.DataFrame:
    """Collects one LazyFrame, as `collect_all` does."""
    return collect_all([frame])[0]
