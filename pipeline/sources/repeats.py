"""An input row → the rows of further repeats of its task: only the index and the seed are others."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from pipeline import names
from pipeline.sources.text import Member, members

_INDEX = b'"' + names.ROLLOUT.encode() + b'"'
_INDEX_MEMBER = re.compile(_INDEX + rb"[ \t\r]*:[ \t\r]*([^,}\s]+)")
_ESCAPED_LETTER = rb"\u00"
"""What a name that is spelled otherwise, such as `_ng_rollout\\u005findex`, has in it."""
_UNIT = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]+", re.DOTALL
)


class Span(NamedTuple):
    """Where a value's text starts and ends."""

    start: int
    end: int


class Template(NamedTuple):
    """A row without its rollout index.

    Attributes:
        pieces: The text before, between and after the places of the index.
        seeded: Whether one of these places is that of a seed.
    """

    pieces: tuple[bytes, ...]
    seeded: bool

    def row(self, index: int) -> bytes:
        """The row of the repeat with this rollout index."""
        return str(index).encode().join(self.pieces)


def template_of(line: bytes) -> Template:
    """What the repeats of an input row have in common: all of its text but its index and its seed.

    NeMo Gym (`num_repeats_add_seed`) gives each repeat its rollout index as seed, in the JSON text
    `responses_create_params.metadata.extra_body`; a row that has no seed there gets none. Of members with the same key
    the last one counts.

    Args:
        line: Valid JSON text of an object that has a rollout index.
    """
    seed = seed_span(line)
    index = _index_span(line)
    ordered = sorted([index] if seed is None else [index, seed])
    starts = [0, *(span.end for span in ordered)]
    ends = [*(span.start for span in ordered), len(line)]
    pieces = (line[start:end] for start, end in zip(starts, ends, strict=True))
    return Template(tuple(pieces), seeded=seed is not None)


def seed_span(line: bytes) -> Span | None:
    """Where the seed of an input row stands, if it has one."""
    if names.EXTRA_BODY.encode() not in line and _ESCAPED_LETTER not in line:
        return None
    value = Span(0, len(line))
    for key in (names.PARAMS, names.METADATA, names.EXTRA_BODY):
        inner = _value_in(line, value, key)
        if inner is None:
            return None
        value = inner
    return _seed_in_text(line, value)


def _index_span(line: bytes) -> Span:
    """Where the rollout index stands: a name that is there once, and in no other spelling, needs no walk to it."""
    if line.count(_INDEX) == 1 and _ESCAPED_LETTER not in line and (found := _INDEX_MEMBER.search(line)):
        return Span(*found.span(1))
    last = _last_member(line, names.ROLLOUT)
    if last is None:
        raise ValueError("a row without a rollout index")
    return Span(last.value, last.end)


def _value_in(line: bytes, value: Span, key: str) -> Span | None:
    """The value of a key in an object that stands somewhere in a line."""
    text = line[value.start : value.end]
    if not text.lstrip().startswith(b"{"):
        return None
    member = _last_member(text, key)
    return None if member is None else Span(value.start + member.value, value.start + member.end)


def _last_member(text: bytes, key: str) -> Member | None:
    found = None
    for member in members(text):
        if member.key == key:
            found = member
    return found


def _seed_in_text(line: bytes, value: Span) -> Span | None:
    """The seed in an object that is the content of a JSON text: where its value stands in the line."""
    text = line[value.start : value.end]
    if not text.startswith(b'"'):
        return None
    units = list(_units(text[1:-1]))
    content = b"".join(decoded for _, decoded in units)
    try:
        is_object = isinstance(json.loads(content), dict)
    except ValueError:
        return None
    member = _last_member(content, names.SEED) if is_object else None
    if member is None:
        return None
    start, end = (value.start + 1 + _place_of(units, offset) for offset in (member.value, member.end))
    return Span(start, end)


def _units(text: bytes) -> Iterator[tuple[int, bytes]]:
    """The parts of a JSON text between its quotes: where each stands, and the bytes that it means."""
    for unit in _UNIT.finditer(text):
        plain = unit[0]
        if plain.startswith(b"\\"):
            meant: str = json.loads(b'"' + plain + b'"')
            plain = meant.encode("utf-8", "surrogatepass")
        yield unit.start(), plain


def _place_of(units: list[tuple[int, bytes]], offset: int) -> int:
    """Where the byte at an offset of the meant text stands in the written one."""
    end = 0
    for start, meant in units:
        if offset < len(meant):
            return start + offset
        offset -= len(meant)
        end = start + len(meant)
    return end
