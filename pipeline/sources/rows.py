"""One line → its object, indices, agent and mask. The only module that knows the JSON parser."""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

from pipeline import names
from pipeline.sources.held import Held
from pipeline.sources.lines import BYTE_ORDER_MARK
from pipeline.sources.text import plain_no_numbers

try:
    import fastsimdjson

    _parsed: Callable[[memoryview], Any] = fastsimdjson.parse
    OBJECTS: tuple[type[Any], ...] = (dict, fastsimdjson.Object)
    LISTS: tuple[type[Any], ...] = (list, fastsimdjson.Array)
except ImportError:  # a platform without the wheel: same answers, slower
    import orjson

    _LONG_NUMBER = re.compile(rb"[0-9]{19}")

    def _parsed(line: memoryview) -> Any:
        text = bytes(line).removeprefix(BYTE_ORDER_MARK)
        try:
            if not _LONG_NUMBER.search(text):
                return orjson.loads(text)
        except ValueError:
            pass
        return json.loads(plain_no_numbers(text).decode())

    OBJECTS = (dict,)
    LISTS = (list,)

NUMBERS = (int, float, bool)
SPACE = b" \t\r\n"
INDEX_RANGE = range(-(2**63), 2**63)


class BadLineError(ValueError):
    """A line that is no rollout, input or failure; its text says why."""


def parse(line: memoryview) -> Any:
    """The JSON object on a line.

    Raises:
        BadLineError: The line is not JSON, not an object, nested too deep, or not UTF-8.
    """
    try:
        row = _parsed(line)
        if type(row) is dict:  # the standard parser read it, which lets surrogates in UTF-8 pass
            _check_text(line)
    except RecursionError:
        raise BadLineError("is nested deeper than the parser allows") from None
    except ValueError as error:
        _check_text(line)
        raise BadLineError(f"is not JSON ({_reason(error)})") from None
    if type(row) not in OBJECTS:
        raise BadLineError(f"holds {kind_of(row)}, not an object")
    return row


def _check_text(line: memoryview) -> None:
    """Refuses bytes that are no text of JSON, whose own parser takes a NUL for a sign of UTF-16.

    Raises:
        BadLineError: They are not UTF-8, or hold a NUL.
    """
    try:
        text = str(line, "utf-8")
    except UnicodeDecodeError as error:
        raise BadLineError(f"is not UTF-8 (byte {error.start})") from None
    if "\0" in text:
        raise BadLineError(f"is not JSON (a NUL at byte {bytes(line).index(0)})")


def _lift_limit() -> int:
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    return limit


_any_length = Held(_lift_limit, sys.set_int_max_str_digits)


@contextlib.contextmanager
def numbers_of_any_length() -> Iterator[None]:
    """Lets whole numbers of any length be read; Python refuses those of more than 4300 digits otherwise."""
    with _any_length:
        yield


def last(row: Any, key: str) -> Any:
    """The value of the last member with this key, as JSON readers take it; None where there is none."""
    keys = tuple(row)
    for place in range(len(keys) - 1, -1, -1):
        if keys[place] == key:
            return tuple(row.values())[place]
    return None


def every_key(row: Any) -> tuple[str, ...]:
    """The keys of an object, repeated ones too; none where the parser has kept only one of each."""
    return () if type(row) is dict else tuple(row)


class Last:
    """Looks up the last member with a key in object after object; quick where one has the keys of the one before.

    A lookup in the parser's objects gives the first member of a key, which is the last one too unless it is repeated.
    """

    def __init__(self, key: str) -> None:
        self._key = key
        self._keys: tuple[str, ...] = ()
        self._times = 0

    def __call__(self, row: Any) -> Any:
        """The value of the last member, None where there is none."""
        keys = tuple(row)
        if keys != self._keys:
            self._keys, self._times = keys, keys.count(self._key)
        if self._times == 1:
            return row.get(self._key)
        return last(row, self._key) if self._times else None


def kind_of(value: object) -> str:
    """What a JSON value is, in a word for messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, str):
        return "text"
    if isinstance(value, (int, float)):
        return "a number"
    return "a list" if isinstance(value, LISTS) else "an object"


def whole_number(value: object, field: str) -> int:
    """An index as a 64-bit signed whole number; 0.0 and 1e0 are whole numbers.

    Raises:
        BadLineError: It is anything else.
    """
    if type(value) is float and value.is_integer():
        value = int(value)
    if type(value) is int:
        if value in INDEX_RANGE:
            return value
        raise BadLineError(f"{field} is a whole number that does not fit 64 bits signed")
    if type(value) is float:
        raise BadLineError(f"{field} is {value!r}, not a whole number")
    raise BadLineError(f"{field} is {kind_of(value)}, not a whole number")


_name_in = Last("name")


def agent_name(reference: object) -> str | None:
    """The name in an `agent_ref`: its `name`, or itself if it is text; a number is its text.

    Raises:
        BadLineError: The name has a lone surrogate.
    """
    return label_text(_name_in(reference) if type(reference) in OBJECTS else reference)


def label_text(value: object) -> str | None:
    """Text, or a number as its text; None for anything else.

    Raises:
        BadLineError: The text has a lone surrogate, which no file of ours could hold.
    """
    if type(value) is str:
        if not value.isascii() and not encodable(value):
            raise BadLineError("a name has a lone surrogate")
        return value
    return str(value) if type(value) in {int, float} else None


def is_masked(mask: object, instance_config: object) -> bool:
    """Whether a truthy `mask_sample` stands at the top level or in `instance_config`."""
    if is_truthy(mask):
        return True
    return isinstance(instance_config, OBJECTS) and is_truthy(last(instance_config, names.MASK))


def is_truthy(value: object) -> bool:
    """Whether a value is true, a number other than 0, or a text, list or object that is not empty."""
    if isinstance(value, (*OBJECTS, *LISTS)):
        return len(value) > 0  # type: ignore[arg-type]
    return bool(value)


def _reason(error: ValueError) -> str:
    return f"{error.msg} at column {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)


def encodable(text: str) -> bool:
    """Whether text can be written; a lone surrogate cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
