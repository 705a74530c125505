"""The text of a JSON object's members, found without reading it as values: what is kept keeps its every byte."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pipeline import names

STRING = rb'"(?:[^"\\]|\\.)*"'
_STRING = re.compile(STRING, re.DOTALL)
_STRING_OR_BRACKET = re.compile(STRING + rb"|[{}\[\]]", re.DOTALL)
_SCALAR = re.compile(rb"[^,}\]\s]+")
_SPACE = re.compile(rb"[ \t\r\n]*")
_NO_NUMBER_AHEAD = re.compile(rb"[:\[,][ \t\r\n]*[-+]?(?:nan|inf)", re.IGNORECASE)
_STRING_OR_NO_NUMBER = re.compile(STRING + rb"|[-+]?(?:nan|inf(?:inity)?)", re.DOTALL | re.IGNORECASE)
_INDEX = re.compile(rb'("_ng_(?:task|rollout)_index"[ \t\r]*:[ \t\r]*-?[0-9]+[ \t\r]*)(,[ \t\r]*)?')


class Member(NamedTuple):
    """A key of the outermost object, where its text starts and where its value's text starts and ends."""

    key: str
    start: int
    value: int
    end: int


def members(text: bytes) -> Iterator[Member]:
    """The members of the outermost object of valid JSON text, in order."""
    at = _skip(text, text.index(b"{") + 1)
    while text[at : at + 1] == b'"':
        start, key_end = at, _end_of_string(text, at)
        value = _skip(text, _skip(text, key_end) + 1)
        end = _end_of_value(text, value)
        yield Member(json.loads(text[start:key_end]), start, value, end)
        at = _skip(text, end)
        if text[at : at + 1] == b",":
            at = _skip(text, at + 1)


def without_indices(text: bytes) -> bytes:
    """The object without its two indices, the rest of its text unchanged.

    Args:
        text: Valid JSON text of an object.
    """
    quick = _without_plain_indices(text)
    if quick is not None:
        return quick
    found = list(members(text))
    pieces: list[bytes] = []
    for number, member in enumerate(found):
        if member.key not in names.KEY:
            before = found[number - 1].end if number else member.start
            pieces.append(text[before if pieces else member.start : member.end])
    opening = text[: found[0].start] if found else b"{"
    closing = text[found[-1].end : text.rindex(b"}") + 1] if found else b"}"
    return opening + b"".join(pieces) + closing


def only_members(text: bytes, keys: Iterable[str]) -> bytes:
    """An object of the last member of each of these keys, in row order, their text unchanged."""
    wanted = set(keys)
    last = {member.key: member for member in members(text) if member.key in wanted}
    return b"{" + b", ".join(text[m.start : m.end] for m in sorted(last.values(), key=lambda m: m.start)) + b"}"


def with_nulls(text: bytes) -> tuple[bytes, int]:
    """The text with each NaN and Infinity as null, and how many there were."""
    if not _NO_NUMBER_AHEAD.search(text):
        return text, 0
    replaced = 0

    def null(match: re.Match[bytes]) -> bytes:
        nonlocal replaced
        if match[0].startswith(b'"'):
            return match[0]
        replaced += 1
        return b"null"

    return _STRING_OR_NO_NUMBER.sub(null, text), replaced


def _without_plain_indices(text: bytes) -> bytes | None:
    """The quick way where each index stands once in the text, spelled plainly and at an end of the object."""
    if text.count(b"_ng_") < 2 or any(text.count(f'"{key}"'.encode()) != 1 for key in names.KEY) or b"\\u00" in text:
        return None
    matches = list(_INDEX.finditer(text))
    if len(matches) != len(names.KEY):
        return None
    first, second = matches
    if text[: first.start()].strip() == b"{" and second.start() == first.end() and second[2]:
        return text[: first.start()] + text[second.end() : text.rindex(b"}") + 1]
    if second.start() == first.end() and text[second.end() :].strip() == b"}" and not second[2]:
        before = text[: first.start()].rstrip()
        return before[:-1] + b"}" if before.endswith(b",") else None
    return None


def _skip(text: bytes, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _end_of_string(text: bytes, start: int) -> int:
    string = _STRING.match(text, start)
    if string is None:
        raise ValueError(f"no string at byte {start}")
    return string.end()


def _end_of_value(text: bytes, start: int) -> int:
    first = text[start : start + 1]
    if first == b'"':
        return _end_of_string(text, start)
    if first not in (b"{", b"["):
        scalar = _SCALAR.match(text, start)
        return scalar.end() if scalar else start
    depth = 0
    for token in _STRING_OR_BRACKET.finditer(text, start):
        kind = token[0][:1]
        if kind in b"{[":
            depth += 1
        elif kind in b"}]":
            depth -= 1
            if depth == 0:
                return token.end()
    raise ValueError(f"no end of the value at byte {start}")
