"""Frames that are put aside: in memory while they are small together, else in files of a temporary folder."""

from __future__ import annotations

import contextlib
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl

from pipeline import names
from pipeline.errors import SourceError
from pipeline.frames.lazy import collect, system_errors
from pipeline.leftovers import undone

ROWS_IN_A_GROUP = 1 << 14
"""So many rows of a file are read together; fewer read less beside what is wanted, more take less time."""


class Bounds(NamedTuple):
    """How much is in memory at a time.

    Attributes:
        held: Bytes of the frames that are put aside in memory, all together.
        part: Values that are gathered before they are put aside.
        portion: Values of the tasks that are put together in one go.
    """

    held: int = 64 << 20
    part: int = 4_000_000
    portion: int = 3_000_000


BOUNDS = Bounds()


class Spill:
    """Where frames are put aside.

    Attributes:
        bounds: How much is in memory at a time.
    """

    def __init__(self, folder: Path, bounds: Bounds) -> None:
        self.bounds = bounds
        self._folder = folder
        self._held = 0
        self._files = 0

    def keep(self, frame: pl.DataFrame) -> pl.LazyFrame:
        """The frame, to be read again as often as it is collected.

        Raises:
            SourceError: The temporary folder cannot be written.
        """
        size = int(frame.estimated_size())
        if self._held + size <= self.bounds.held:
            self._held += size
            return frame.lazy()
        with self.file() as path:
            frame.write_parquet(path, compression="lz4", row_group_size=ROWS_IN_A_GROUP)
        return pl.scan_parquet(path, glob=False)

    @contextlib.contextmanager
    def file(self) -> Iterator[Path]:
        """A new file in the temporary folder, to be written in the block.

        Raises:
            SourceError: It cannot be written.
        """
        self._files += 1
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            with system_errors():
                yield self._folder / f"{self._files}.parquet"
        except OSError as error:
            raise SourceError(
                f"the temporary folder cannot be written: {error.strerror or error}",
                where=names.shown(self._folder.parent),
                hint="Name one with more room in TMPDIR. Nothing was changed.",
            ) from error

    def remove(self) -> None:
        """Removes the temporary folder, if there is one."""
        shutil.rmtree(self._folder, ignore_errors=True)


def slices(rows: pl.LazyFrame, values: int | None) -> Iterator[pl.DataFrame]:
    """The rows of a frame in order, about so many values at a time, all without a number; at least one slice."""
    height = collect(rows.select(pl.len())).item()
    step = max(1, height if values is None else values // len(rows.collect_schema()))
    for start in range(0, max(1, height), step):
        yield collect(rows.slice(start, step)).rechunk()


@contextlib.contextmanager
def spilling(bounds: Bounds | None = None) -> Iterator[Spill]:
    """A place to put frames aside, which is gone at the end of the block, however that comes.

    Raises:
        SourceError: There is no temporary folder.
    """
    try:
        folder = Path(tempfile.gettempdir()) / f"rollprof-{secrets.token_hex(6)}"
    except OSError as error:
        raise SourceError("there is no temporary folder", hint="Name one in TMPDIR.") from error
    spill = Spill(folder, bounds or BOUNDS)
    with undone(spill.remove):
        yield spill
