"""Values of JSON for people: what is long is left out, what could steer a terminal is escaped."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

from pipeline.errors import UsageError
from pipeline.sources.text import with_nulls
from pipeline.words import counted

MANY = 32
LONGEST_FIELD = 2000
SHOWN_KEYS = 40
_BASE64 = r"[A-Za-z0-9+/_-]"
_DATA_URL = re.compile(rf"(data:[\w/+.;=-]*;base64,)({_BASE64}{{64,}}={{0,2}})")
_LONG_BASE64 = re.compile(rf"{_BASE64}{{512,}}={{0,2}}")
_UNUSUAL = re.compile(r"[^\n\t -~]")


def plain(text: str) -> str:
    """Text whose characters that are not printed, but for line feeds and tabs, are escaped as JSON escapes them."""
    return _UNUSUAL.sub(_escaped, text)


def on_one_line(text: str) -> str:
    """Text with every stretch of white space as one space."""
    return plain(" ".join(text.split()))


def cut(text: str, length: int) -> str:
    """The beginning of a text, with an ellipsis where something is left out."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def elided(value: Any) -> Any:
    """The value with long lists of numbers and base64 replaced by a note of what is left out."""
    if isinstance(value, str):
        return _without_base64(value)
    if isinstance(value, dict):
        return {key: elided(inside) for key, inside in value.items()}
    if not isinstance(value, list):
        return value
    if len(value) > MANY and all(isinstance(one, (int, float)) for one in value):
        return f"<{len(value):,} numbers left out>"
    if len(value) > MANY and all(isinstance(one, dict) and "logprob" in one for one in value):
        return f"<{len(value):,} log probabilities left out>"
    return [elided(one) for one in value]


def as_json(value: Any, *, indent: int | None = None) -> str:
    """A value as JSON: UTF-8, null for NaN and Infinity, nothing in it that could steer a terminal."""
    return without_nan(json.dumps(value, ensure_ascii=False, indent=indent))


def without_nan(text: str) -> str:
    """JSON text with null for NaN and Infinity, and nothing in it that could steer a terminal."""
    return with_nulls(plain(text.replace("\r", " ").replace("\t", " ")).encode())[0].decode()


def field_text(value: Any, *, full: bool) -> str:
    """A field's value as JSON on one line, cut where it is long unless all of it is wanted."""
    text = as_json(value)
    if full or len(text) <= LONGEST_FIELD:
        return text
    return f"{text[:LONGEST_FIELD]} <{counted(len(text) - LONGEST_FIELD, 'character')} left out>"


def value_at(row: dict[str, Any], path: str) -> Any:
    """The value at a dotted path; places in lists are numbers, -1 is the last; keys may have dots themselves.

    Raises:
        UsageError: A part of the path is not there.
    """
    value: Any = row
    parts, passed = path.split("."), ""
    while parts:
        taken = _step(value, parts)
        if not taken:
            missing = plain(parts[0])
            raise UsageError(f"--field {plain(path)}: {passed or 'the row'} has no {missing}", hint=_holds(value))
        key = ".".join(parts[:taken])
        value = value[int(key)] if isinstance(value, list) else value[key]
        passed = plain(f"{passed}.{key}" if passed else key)
        parts = parts[taken:]
    return value


def _step(value: Any, parts: list[str]) -> int:
    """How many parts are the next key, longest first; 0 where none is."""
    if isinstance(value, dict):
        return next((number for number in range(len(parts), 0, -1) if ".".join(parts[:number]) in value), 0)
    if isinstance(value, list) and re.fullmatch(r"-?[0-9]{1,18}", parts[0]):
        return int(-len(value) <= int(parts[0]) < len(value))
    return 0


def _holds(value: Any) -> str:
    """What there is to choose from, in a sentence."""
    if isinstance(value, dict):
        more = f" and {len(value) - SHOWN_KEYS:,} more" if len(value) > SHOWN_KEYS else ""
        return f"Its keys: {', '.join(map(on_one_line, list(value)[:SHOWN_KEYS]))}{more}." if value else "It is empty."
    if isinstance(value, list):
        return f"It is a list with the places 0 to {len(value) - 1}." if value else "It is an empty list."
    return f"It is {cut(as_json(value), 60)}, which holds nothing."


def _without_base64(text: str) -> str:
    def note(found: re.Match[str]) -> str:
        return f"{found[1]}<{len(found[2]):,} characters of base64 left out>"

    def note_if_mixed(found: re.Match[str]) -> str:
        mixed = all(re.search(kind, found[0]) for kind in ("[a-z]", "[A-Z]", "[0-9]"))
        return f"<{len(found[0]):,} characters of base64 left out>" if mixed else found[0]

    return _LONG_BASE64.sub(note_if_mixed, _DATA_URL.sub(note, text))


def _escaped(found: re.Match[str]) -> str:
    letter = found[0]
    is_shown = letter.isprintable() or unicodedata.category(letter) == "Zs"
    return letter if is_shown else json.dumps(letter)[1:-1]
