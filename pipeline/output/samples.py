"""The text of each profile row's sample, fetched from its source by its place."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple, Protocol, Self

import polars as pl

from pipeline import names
from pipeline.sources import rows
from pipeline.sources.files import Source, check_unchanged, not_copied, open_source
from pipeline.sources.lines import changed, lines_of, unreadable
from pipeline.sources.text import MAY_BE_NO_NUMBER, members, only_members, with_nulls, without_indices

FROM_ROLLOUT = (names.PARAMS, names.AGENT_REF, names.ENVIRONMENT_SERVER)


def sample_of_input(line: bytes, *, plain: bool) -> bytes:
    """The sample that an input row gives: the row without its two indices, each of which a plain row has once."""
    return without_indices(line, once=plain)


def sample_of_rollout(line: bytes, *, plain: bool) -> bytes:  # noqa: ARG001 - the same question as to inputs
    """The sample that a rollout gives where there are no inputs: what it was asked, and of whom."""
    return only_members(line, FROM_ROLLOUT)


def sample_of_profile(line: bytes, *, plain: bool) -> bytes:  # noqa: ARG001 - the same question as to inputs
    """The sample that a profile row has already."""
    found = [line[member.value : member.end] for member in members(line) if member.key == "sample"]
    return found[-1] if found else b"{}"


def whole_line(line: bytes, *, plain: bool) -> bytes:  # noqa: ARG001 - the same question as to inputs
    """The line as it is."""
    return line


class Shape(Protocol):
    """Makes a sample from the text of its line; a row that is plain has each index once."""

    def __call__(self, line: bytes, *, plain: bool) -> bytes:
        """The sample's text."""


class Samples:
    """Fetches samples by their places; may be asked by several threads.

    Attributes:
        nulls: How many NaN and Infinity became null so far.
    """

    def __init__(self, wanted: pl.DataFrame, sources: Iterable[Source], shape: Shape) -> None:
        self.nulls = 0
        self._shape = shape
        self._may_grow = shape is sample_of_rollout
        self._before = {source.shown: source for source in sources}
        self._wanted = wanted
        self._sources: list[Source] = []
        self._copies: dict[str, _Copy] = {}
        self._plain: dict[tuple[str, ...], bool] = {}
        self._lock = threading.Lock()
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Sees whether the sources are what they were, and goes once more through those that cannot be sought."""
        self._stack.enter_context(rows.numbers_of_any_length())
        for path in self._wanted["_input_source"].unique(maintain_order=True):
            source = self._before.get(path) or open_source(path)
            check_unchanged(source, may_grow=self._may_grow)
            self._sources.append(source)
            if not source.seekable:
                file = self._stack.enter_context(_temporary(source.path))
                offsets = self._wanted.filter(pl.col("_input_source") == path)["_input_offset"]
                self._copies[path] = _copied(source, set(offsets), file)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
        if kind is None:
            for source in self._sources:
                check_unchanged(source, may_grow=self._may_grow)

    def texts(self, batch: pl.DataFrame) -> pl.Series:
        """The samples of these profile rows (String).

        Raises:
            SourceError: A source is no longer what it was when it was read.
        """
        found: list[bytes] = [b""] * len(batch)
        places = (
            batch.select(*names.INPUT_PLACE, names.TASK).with_row_index("_row").sort("_input_source", "_input_offset")
        )
        for (source,), rows_of_source in places.partition_by(
            "_input_source", as_dict=True, maintain_order=True
        ).items():
            with self._opened(source) as (file, moved):
                for row, _, line, offset, length, task in rows_of_source.iter_rows():
                    text = os.pread(file, length, moved.get(offset, offset))
                    found[row] = self._sample(text, length, task, f"{source}:{line}")
        return self._valid(pl.Series("sample", found, dtype=pl.Binary).cast(pl.String))

    def _valid(self, texts: pl.Series) -> pl.Series:
        """The texts with null for NaN and Infinity; few can hold one, which Polars sees quicker than Python."""
        suspects = texts.str.contains(MAY_BE_NO_NUMBER).arg_true()
        if not len(suspects):
            return texts
        mended = [with_nulls(text.encode()) for text in texts.gather(suspects)]
        with self._lock:
            self.nulls += sum(replaced for _, replaced in mended)
        return texts.scatter(suspects, [text.decode() for text, _ in mended])

    def _sample(self, text: bytes, length: int, task: int, where: str) -> bytes:
        try:
            row = rows.parse(memoryview(text))
        except rows.BadLineError:
            row = {}
        keys = rows.every_key(row)
        plain = self._plain.get(keys)
        if plain is None:
            plain = self._plain[keys] = all(keys.count(key) == 1 for key in names.KEY)
        found = row.get(names.TASK) if plain else rows.last(row, names.TASK)
        if len(text) != length or not row or found not in {task, None}:
            raise changed(where)
        return self._shape(text, plain=plain)

    @contextlib.contextmanager
    def _opened(self, path: str) -> Iterator[tuple[int, dict[int, int]]]:
        """A source's file descriptor, and where its lines have moved to."""
        if path in self._copies:
            copy = self._copies[path]
            yield copy.file.fileno(), copy.moved
            return
        before = self._before.get(path)
        try:
            file = (before.path if before else Path(path)).open("rb", buffering=0)
        except OSError as error:
            raise unreadable(path, error) from error
        with file:
            yield file.fileno(), {}


class _Copy(NamedTuple):
    """The wanted lines of a source without random access: the file they were copied to, their offsets there → here."""

    file: IO[bytes]
    moved: dict[int, int]


def _copied(source: Source, wanted: set[int], file: IO[bytes]) -> _Copy:
    moved: dict[int, int] = {}
    try:
        for offset, view, _ in lines_of(source.whole()):
            if offset in wanted:
                moved[offset] = file.tell()
                file.write(view)
        file.flush()
    except OSError as error:
        raise not_copied(source.path, error) from error
    if len(moved) < len(wanted):
        raise changed(str(source.path))
    return _Copy(file, moved)


@contextlib.contextmanager
def _temporary(path: Path) -> Iterator[IO[bytes]]:
    try:
        file = tempfile.TemporaryFile(prefix="rollprof-")  # noqa: SIM115 - an error of the block is none of this
    except OSError as error:
        raise not_copied(path, error) from error
    with file:
        yield file
