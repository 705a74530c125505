"""Segments of a source → chunks of columns: the loop over lines that workers run, whatever the rows are."""

from __future__ import annotations

import gc
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline import names
from pipeline.sources import fields, rows
from pipeline.sources.columns import Column
from pipeline.sources.context import Context, Scalar, Texts
from pipeline.sources.held import Held
from pipeline.sources.lines import Segment, lines_of

if TYPE_CHECKING:
    from pipeline.options import Asked

TORN = "is cut off in the middle: it has no line end"
TOO_DEEP = "is nested deeper than can be read"
NO_INDICES = f"has no {names.TASK} and no {names.ROLLOUT}"
TOO_LARGE = "has an index that does not fit 64 bits signed"
BLANK = frozenset((b"", b"\r"))


class Job(NamedTuple):
    """What one worker reads in one go.

    Attributes:
        segments: The byte ranges, in order.
        nested: Paths of objects whose numbers are metrics as well.
        digests: Whether to keep a digest of each line, to tell identical rows of several files.
        prompts: Whether to keep a digest of each prompt, to number dumps that have no indices.
        metrics: The metrics wanted, by the names they have where they stand; None for all.
        context: Whether to keep short texts, and what `fields` asks for.
        fields: Fields asked for, by their path from the row.
        inspect: Whether to count which fields the rows have, and of what types.
    """

    segments: tuple[Segment, ...]
    nested: tuple[tuple[str, ...], ...] = ()
    digests: bool = False
    prompts: bool = False
    metrics: tuple[str, ...] | None = None
    context: bool = False
    fields: tuple[Asked, ...] = ()
    inspect: bool = False


class BadLine(NamedTuple):
    """A line that could not be used, and why."""

    source: int
    line: int
    offset: int
    length: int
    reason: str
    torn: bool


Metric = tuple[str, str]
"""Where a metric stands (`row`, `usage`, `row nested`, `usage nested`) and its name there."""
Shape = tuple[tuple[Metric, ...], tuple[Metric, ...]]
"""The metrics of a row in order: those of its own fields, and those of its usage."""


class Met(NamedTuple):
    """A field as rows have it.

    Attributes:
        at: Where it stands: `row`, or `usage` for `response.usage`.
        field: Its name.
        type: What it is there: text, whole, fractional, boolean, null, list or object.
        rows: In how many rows it is that.
        repeated: In how many of them the name is there more than once; the last one counts.
        source: The source of the first of them.
        line: The line of that, from the segment's start.
    """

    at: str
    field: str
    type: str
    rows: int
    repeated: int
    source: int
    line: int


class Chunk(NamedTuple):
    """The rows of a job as columns.

    Attributes:
        columns: Names of the whole-number columns.
        cells: Their cells as 64-bit whole numbers, row after row.
        labels: Names of the text columns.
        texts: The texts that the column `_labels` counts, each a text (or none) for every text column.
        metrics: The numbers of each metric.
        shapes: The shapes that the column `_shape` counts.
        context: Short texts at the top level of the rows.
        fields: The fields asked for, a value a row.
        lines: How many lines each segment has.
        bad: Lines that could not be used; their line numbers count from the segment's start.
        bytes: How much was read.
        objects: How many lines hold an object, if the job inspects them.
        met: The fields of these objects in the order of their first line.
    """

    columns: tuple[str, ...]
    cells: bytes
    labels: tuple[str, ...]
    texts: list[tuple[str | None, ...]]
    metrics: dict[Metric, Column]
    shapes: list[Shape]
    context: dict[str, Texts]
    fields: dict[str, list[Scalar]]
    lines: list[int]
    bad: list[BadLine]
    bytes: int
    objects: int = 0
    met: tuple[Met, ...] = ()


class Builder:
    """Collects the cells of rows, row after row.

    Attributes:
        columns: The whole-number columns; each row packs a cell of each.
        labels: The text columns; the texts of a row are one number in the column `_labels`.
        parse: The object on a line.
    """

    columns: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()

    def __init__(self, *, context: Context | None = None) -> None:
        self.context = context
        self.parse: Callable[[memoryview], Any] = rows.parse
        self.height = 0
        self.cells = bytearray()
        self.texts: dict[tuple[str | None, ...], int] = {}
        self.pack = struct.Struct(f"={len(self.columns)}q").pack

    def add(self, source: int, line: int, offset: int, view: memoryview) -> None:
        """Adds the row on a line.

        Raises:
            BadLineError: The line cannot be used.
        """
        raise NotImplementedError

    def label(self, *texts: str | None) -> int:
        """The number that stands for the texts of a row."""
        return self.texts.setdefault(texts, len(self.texts))

    def chunk(self, lines: list[int], bad: list[BadLine], read: int) -> Chunk:
        """What was added, as columns."""
        context = self.context.texts(self.height) if self.context else {}
        asked = self.context.fields() if self.context else {}
        columns = (self.columns, bytes(self.cells), self.labels, list(self.texts))
        return Chunk(*columns, {}, [], context, asked, lines, bad, read)


def last_places(keys: tuple[fields.Key, ...], wanted: tuple[str, ...]) -> tuple[int, ...]:
    """Where the last member of each wanted key stands, -1 where there is none."""
    final = {key: place for place, key in enumerate(keys)}
    return tuple(final.get(key, -1) for key in wanted)


def index(values: tuple[object, ...], place: int, field: str) -> int:
    """The index at a place of a row.

    Raises:
        BadLineError: There is none, or it is no whole number of 64 bits.
    """
    if place < 0:
        raise rows.BadLineError(f"has no {field}")
    value = values[place]
    return value if type(value) is int and value in rows.INDEX_RANGE else rows.whole_number(value, field)


def digest(text: bytes) -> int:
    """A digest of 64 bits."""
    import hashlib

    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little", signed=True)


def read(job: Job, builder: Builder) -> Chunk:
    """Adds every line of the job's segments; a line that cannot be used is kept as bad, a blank one is skipped."""
    lines: list[int] = []
    bad: list[BadLine] = []
    read = 0
    add = builder.add
    with _no_garbage_collection, rows.numbers_of_any_length():
        for segment in job.segments:
            line = 0
            source = segment.source
            for line, (offset, view, terminated) in enumerate(lines_of(segment), 1):
                read += len(view) + terminated
                if len(view) <= 1 and bytes(view) in BLANK:
                    continue  # without the detour over an error, for there may be millions of them
                try:
                    add(source, line, offset, view)
                except (rows.BadLineError, struct.error, RecursionError) as error:
                    if bytes(view).strip(rows.SPACE):
                        torn = not terminated and not _complete(view)
                        reason = TORN if torn else _reason(error)
                        bad.append(BadLine(source, line, offset, len(view), reason, torn))
            lines.append(line)
    return builder.chunk(lines, bad, read)


def _stop_collector() -> bool:
    enabled = gc.isenabled()
    gc.disable()
    return enabled


def _start_collector(enabled: bool) -> None:  # noqa: FBT001 - it is what `_stop_collector` has said
    if enabled:
        gc.enable()


_no_garbage_collection = Held(_stop_collector, _start_collector)
"""Rows make no cycles, and a collector that goes through millions of their cells in vain is slow."""


def _reason(error: Exception) -> str:
    if isinstance(error, struct.error):
        return TOO_LARGE
    return TOO_DEEP if isinstance(error, RecursionError) else str(error)


def _complete(view: memoryview) -> bool:
    """Whether a line without an end is a whole JSON value all the same."""
    try:
        rows.parse(view)
    except rows.BadLineError:
        return False
    return True
