"""The place of a line → its bytes, if it is still the line that was read there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from pipeline import names
from pipeline.errors import SourceError
from pipeline.sources import rows
from pipeline.sources.files import Source
from pipeline.sources.lines import BYTE_ORDER_MARK, lines_of, unreadable
from pipeline.sources.text import plain_no_numbers


class Place(NamedTuple):
    """Where a rollout stands in its source: its key, the number of its line, the line's offset and bytes."""

    task: int
    rollout: int
    line: int
    offset: int
    length: int


def fetch(source: Source, places: Sequence[Place]) -> list[bytes]:
    """The lines at these places, without their line feeds; a source without random access is gone through once.

    Raises:
        SourceError: The source cannot be read, or another line stands at a place by now.
    """
    order = sorted(range(len(places)), key=lambda number: places[number].offset)
    lines = dict(zip(order, fetched(source, [places[number] for number in order]), strict=True))
    return [lines[number] for number in range(len(places))]


def fetched(source: Source, places: Sequence[Place]) -> Iterator[bytes]:
    """The lines at these places, which are in the order of their offsets, one at a time.

    Raises:
        SourceError: The source cannot be read, or another line stands at a place by now.
    """
    read = _sought if source.seekable else _gone_through
    for place, line in zip(places, read(source, places), strict=True):
        if len(line) != place.length or not _has_key(line, (place.task, place.rollout)):
            raise SourceError(
                f"was changed since it was read: rollout {place.task}:{place.rollout} is not there",
                where=f"{source.shown}:{place.line}",
                hint="Look at it again; an export has to be made again.",
            )
        yield line


def plain_row(line: bytes) -> dict[str, Any]:
    """The object on a line that was read before, as plain values; of repeated keys the last one counts.

    Raises:
        RecursionError: It is nested too deep.
    """
    with rows.numbers_of_any_length():
        try:
            row: dict[str, Any] = json.loads(line)
        except ValueError:  # spellings of NaN that other parsers know
            row = json.loads(plain_no_numbers(line))
    return row


def _sought(source: Source, places: Sequence[Place]) -> Iterator[bytes]:
    try:
        with source.path.open("rb", buffering=0) as file:
            for place in places:
                yield _line_at(file.fileno(), place)
    except OSError as error:
        raise unreadable(source.shown, error) from error


def _line_at(file: int, place: Place) -> bytes:
    """The whole line at a place; nothing where no line begins or ends there."""
    before = min(1, place.offset)
    text = os.pread(file, before + place.length + 1, place.offset - before)
    line, after = text[before : before + place.length], text[before + place.length :]
    begins = text[:before] in {b"", b"\n"} or place.offset == len(BYTE_ORDER_MARK)
    return line if begins and after in {b"", b"\n"} else b""


def _gone_through(source: Source, places: Sequence[Place]) -> Iterator[bytes]:
    """The lines at places in their order; an empty one where none begins."""
    wanted = iter(places)
    place = next(wanted, None)
    for offset, view, _ in lines_of(source.whole()):
        while place is not None and place.offset <= offset:
            yield bytes(view) if place.offset == offset else b""
            place = next(wanted, None)
        if place is None:
            return
    while place is not None:
        yield b""
        place = next(wanted, None)


def _has_key(line: bytes, key: tuple[int, int]) -> bool:
    """Whether a line is that of a key; one without indices was numbered by its order, and a profile row is a task."""
    try:
        row = rows.parse(memoryview(line))
    except rows.BadLineError:
        return False
    found = tuple(rows.last(row, name) for name in names.KEY)
    return found in (key, (None, None), (key[0], None))
