"""The text of each profile row's sample, fetched from its source by its place."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import polars as pl

from pipeline import names
from pipeline.errors import SourceError
from pipeline.sources import rows
from pipeline.sources.files import Source, open_source
from pipeline.sources.lines import lines_of, unreadable
from pipeline.sources.text import only_members, with_nulls, without_indices

FROM_ROLLOUT = (names.PARAMS, names.AGENT_REF, names.ENVIRONMENT_SERVER)
PLACE = ("_input_source", "_input_line", "_input_offset", "_input_length")


def sample_of_input(line: bytes, keys: tuple[str, ...]) -> bytes:
    """The sample that an input row gives: the row without its two indices; `keys` are all of its keys, if known."""
    return without_indices(line, once=all(keys.count(key) == 1 for key in names.KEY))


def sample_of_rollout(line: bytes, _keys: tuple[str, ...]) -> bytes:
    """The sample that a rollout gives where there are no inputs: what it was asked, and of whom."""
    return only_members(line, FROM_ROLLOUT)


class Samples:
    """Opens sources as samples are asked for; what cannot be sought is gone through once more.

    Attributes:
        nulls: How many NaN and Infinity became null so far.
    """

    def __init__(
        self, wanted: pl.DataFrame, sources: Iterable[Source], shape: Callable[[bytes, tuple[str, ...]], bytes]
    ) -> None:
        self.nulls = 0
        self._shape = shape
        self._known = {str(source.path): source for source in sources}
        self._wanted = wanted
        self._files: dict[str, IO[bytes]] = {}
        self._moved: dict[str, dict[int, int]] = {}
        self._task_of = rows.Last(names.TASK)
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def texts(self, batch: pl.DataFrame) -> pl.Series:
        """The samples of these profile rows (String).

        Raises:
            SourceError: A source is no longer what it was when it was read.
        """
        found = [
            self._sample(source, line, offset, length, task)
            for source, line, offset, length, task in batch.select(*PLACE, names.TASK).iter_rows()
        ]
        return pl.Series("sample", found, dtype=pl.Binary).cast(pl.String)

    def _sample(self, source: str, line: int, offset: int, length: int, task: int) -> bytes:
        file = self._files.get(source) or self._open(source)
        text = os.pread(file.fileno(), length, self._moved[source][offset] if source in self._moved else offset)
        try:
            row = rows.parse(memoryview(text))
        except rows.BadLineError:
            row = {}
        if len(text) != length or not row or self._task_of(row) not in {task, None}:
            raise _changed(f"{source}:{line}")
        sample, nulls = with_nulls(self._shape(text, rows.every_key(row)))
        self.nulls += nulls
        return sample

    def _open(self, path: str) -> IO[bytes]:
        try:
            source = open_source(path)
            before = self._known.get(path)
            if before and _is_other(before, source):
                raise _changed(path)
            if source.seekable:
                file: IO[bytes] = self._stack.enter_context(Path(path).open("rb", buffering=0))  # noqa: SIM115
            else:
                file = self._stack.enter_context(tempfile.TemporaryFile(prefix="rollprof-"))  # noqa: SIM115 - the stack closes it
                self._moved[path] = self._copy_wanted(path, source, file)
        except OSError as error:
            raise unreadable(path, error) from error
        self._files[path] = file
        return file

    def _copy_wanted(self, path: str, source: Source, file: IO[bytes]) -> dict[int, int]:
        """Copies the wanted lines of a source without random access; their offsets there → here."""
        wanted = set(self._wanted.filter(pl.col("_input_source") == path)["_input_offset"])
        moved: dict[int, int] = {}
        for offset, view, _ in lines_of(source.whole()):
            if offset in wanted:
                moved[offset] = file.tell()
                file.write(view)
        file.flush()
        if len(moved) < len(wanted):
            raise _changed(path)
        return moved


def _is_other(before: Source, now: Source) -> bool:
    return now.size < before.size or before.modified != now.modified


def _changed(where: str) -> SourceError:
    return SourceError("was changed while it was being profiled", where=where, hint="Profile it again.")
