"""A LazyFrame that reads its sources once, when it is first needed, and keeps what it read."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping

import polars as pl

_failures: list[BaseException] = []
"""What went wrong in the last reading, as it was raised. Only one thread at a time may collect with `collect_all`."""


def lazy_frame(read: Callable[[], pl.DataFrame]) -> pl.LazyFrame:
    """A LazyFrame over what `read` gives; it is called until it succeeds, and then no more.

    It is called while the plan is resolved, and Polars holds the frame's lock meanwhile: collect the frame once before
    other threads build upon it. Errors come out of Polars' own `collect` with their type where they can be made from
    one text. (Polars' own way to a source in Python imports PyArrow where that is installed, which takes longer than to
    profile a few rollouts.)
    """
    lock = threading.Lock()
    kept: list[pl.LazyFrame] = []

    def frame(_nothing: pl.LazyFrame, _schema: pl.Schema) -> pl.LazyFrame:
        with lock:
            if not kept:
                try:
                    kept.append(read().lazy())
                except BaseException as error:
                    _failures[:] = [error]
                    raise
            return kept[0]

    return pl.LazyFrame().pipe_with_schema(frame)


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
    that are in memory anyway. Polars raises an exception from reading anew, with words of its own.

    Raises:
        RollprofError: A source could not be read.
        KeyboardInterrupt: The user interrupted the reading.
    """
    _failures.clear()
    try:
        return pl.collect_all(frames, engine="in-memory")
    except BaseException:
        if _failures:
            raise _failures.pop() from None
        raise


def collect(frame: pl.LazyFrame) -> pl.DataFrame:
    """Collects one LazyFrame, as `collect_all` does."""
    return collect_all([frame])[0]
