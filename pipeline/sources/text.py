"""The text of a JSON object's members, found without reading it as values: what is kept keeps its every byte."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from pipeline import names

STRING = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
_STRING = re.compile(STRING, re.DOTALL)
_STRING_OR_BRACKET = re.compile(STRING + rb"|[{}\[\]]", re.DOTALL)
_DECODER = json.JSONDecoder(strict=False)
_SCALAR = re.compile(rb"[^,}\]\s]+")
_SPACE = re.compile(rb"[ \t\r\n]*")
_STRING_OR_NO_NUMBER = re.compile(STRING + rb"|[-+]?(?:nan|inf(?:inity)?)", re.DOTALL | re.IGNORECASE)
MAY_BE_NO_NUMBER = r"(?i-u)[:,\[][ \t\r\n]*[-+]?(?:nan|inf)"
"""A pattern for Polars that finds every NaN and Infinity of valid JSON, and a few texts more."""
_MAY_BE_NO_NUMBER = re.compile(rb"[:,\[][ \t\r\n]*[-+]?(?:nan|inf)", re.IGNORECASE)
_INDEX = rb'"_ng_(?:task|rollout)_index"[ \t\r]*:[ \t\r]*-?[0-9]+[ \t\r]*'
_INDICES_FIRST = re.compile(rb"[ \t\r]*\{[ \t\r]*" + _INDEX + rb",[ \t\r]*" + _INDEX + rb",[ \t\r]*")
_INDICES_LAST = re.compile(rb"[ \t\r]*,[ \t\r]*" + _INDEX + rb",[ \t\r]*" + _INDEX + rb"\}[ \t\r]*\Z")
_LONGEST_INDICES = 200


class Member(NamedTuple):
    """A key of the outermost object, where its text starts and where its value's text starts and ends."""

    key: str
    start: int
    value: int
    end: int


def members(text: bytes) -> Iterator[Member]:
    """The members of the outermost object of valid JSON text, in order."""
    letters = _letters(text)
    at = _skip(text, text.index(b"{") + 1)
    while text[at : at + 1] == b'"':
        start, key_end = at, _end_of_string(text, at)
        value = _skip(text, _skip(text, key_end) + 1)
        end = _end_of_value(text, letters, value)
        yield Member(json.loads(text[start:key_end]), start, value, end)
        at = _skip(text, end)
        if text[at : at + 1] == b",":
            at = _skip(text, at + 1)


def elements(text: bytes, start: int) -> Iterator[tuple[int, int]]:
    """Where each value of the list that begins at `start` of valid JSON text starts and ends."""
    letters = _letters(text)
    at = _skip(text, start + 1)
    while text[at : at + 1] != b"]":
        end = _end_of_value(text, letters, at)
        yield at, end
        at = _skip(text, end)
        if text[at : at + 1] == b",":
            at = _skip(text, at + 1)


def without_indices(text: bytes, *, once: bool = False) -> bytes:
    """The object without its two indices, the rest of its text unchanged.

    Args:
        text: Valid JSON text of an object.
        once: Whether each index is known to stand in it exactly once, which allows a quicker way.
    """
    if once:
        if first := _INDICES_FIRST.match(text):
            return b"{" + text[first.end() : text.rindex(b"}") + 1]
        if last := _INDICES_LAST.search(text, max(1, len(text) - _LONGEST_INDICES)):
            return text[: last.start()] + b"}"
    found = list(members(text))
    kept = [number for number, member in enumerate(found) if member.key not in names.KEY]
    if not kept:
        return b"{}"
    pieces = [text[found[kept[0]].start : found[kept[0]].end]]
    pieces += [text[found[number - 1].end : found[number].end] for number in kept[1:]]
    return text[text.index(b"{") : found[0].start] + b"".join(pieces) + text[found[-1].end : text.rindex(b"}") + 1]


def only_members(text: bytes, keys: Iterable[str]) -> bytes:
    """An object of the last member of each of these keys, in row order, their text unchanged."""
    wanted = set(keys)
    last = {member.key: member for member in members(text) if member.key in wanted}
    return b"{" + b", ".join(text[m.start : m.end] for m in sorted(last.values(), key=lambda m: m.start)) + b"}"


def with_members(text: bytes, changes: Mapping[str, bytes]) -> bytes:
    """The object with these members: in their places where it has them already, else at its end.

    Args:
        text: Valid JSON text of an object. Of a member that is there twice the last one counts, and only that is kept.
        changes: The JSON text of each member's value.
    """
    found = list(members(text))
    last = {member.key: number for number, member in enumerate(found) if member.key in changes}
    kept = [number for number, member in enumerate(found) if last.get(member.key, number) == number]
    pieces = [text[text.index(b"{") : found[0].start] if found else b"{"]
    for place, number in enumerate(kept):
        member = found[number]
        before = text[found[number - 1].end : member.start] if place else b""
        value = changes[member.key] if member.key in last else text[member.value : member.end]
        pieces.append(before + text[member.start : member.value] + value)
    for key, value in changes.items():
        if key not in last:
            comma = b"," if len(pieces) > 1 else b""
            pieces.append(comma + json.dumps(key).encode() + b":" + value)
    end = text[found[-1].end : text.rindex(b"}") + 1] if found else b"}"
    return b"".join(pieces) + end


def with_more(text: bytes, more: Mapping[str, bytes]) -> bytes:
    """The object with these members at its end; it has some, but none of these."""
    end = text.rindex(b"}")
    return text[:end] + b"".join(b",%b:%b" % (json.dumps(key).encode(), more[key]) for key in more) + text[end:]


def with_nulls(text: bytes) -> tuple[bytes, int]:
    """The text with each NaN and Infinity as null, and how many there were."""
    replaced = 0
    if not _MAY_BE_NO_NUMBER.search(text):
        return text, replaced

    def null(match: re.Match[bytes]) -> bytes:
        nonlocal replaced
        if match[0].startswith(b'"'):
            return match[0]
        replaced += 1
        return b"null"

    return _STRING_OR_NO_NUMBER.sub(null, text), replaced


def plain_no_numbers(text: bytes) -> bytes:
    """The text with NaN and Infinity of any capitalization spelled as the standard library reads them."""

    def spelled(match: re.Match[bytes]) -> bytes:
        found = match[0]
        if found.startswith(b'"'):
            return found
        if found.lstrip(b"+-")[:1].lower() == b"n":
            return b"NaN"
        return b"-Infinity" if found.startswith(b"-") else b"Infinity"

    return _STRING_OR_NO_NUMBER.sub(spelled, text)


def _skip(text: bytes, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _end_of_string(text: bytes, start: int) -> int:
    string = _STRING.match(text, start)
    if string is None:
        raise ValueError(f"no string at byte {start}")
    return string.end()


def _letters(text: bytes) -> str:
    """A letter a byte: beside the letters of strings JSON is ASCII, so the same values stand at the same places."""
    return text.decode("latin-1")


def _end_of_value(text: bytes, letters: str, start: int) -> int:
    """Where a value ends, which the standard library's decoder finds soonest."""
    try:
        return _DECODER.raw_decode(letters, start)[1]
    except (ValueError, RecursionError):  # NaN or Infinity in another spelling, or it is nested deep
        return _end_by_brackets(text, start)


def _end_by_brackets(text: bytes, start: int) -> int:
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
