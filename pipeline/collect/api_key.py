"""The key of a model: read from its variable, and blotted out of whatever repeats it."""

from __future__ import annotations

import os
import re
from functools import cache
from itertools import groupby

from pipeline.errors import UsageError

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
SHORTEST = 8
"""Shorter keys are placeholders, such as EMPTY: they guard nothing, and are words that answers have."""
BLOT = b"***"
ESCAPED = re.compile(r"[\"\\]")
"""Letters that JSON never holds plain."""
BACKSLASH = rb"\\(?:u005[cC])?"


def api_key(variable: str | None) -> str | None:
    """The key in a variable; None where there is none to look into.

    Raises:
        UsageError: The variable is empty, or holds what cannot be sent.
    """
    if variable is None:
        return None
    if not VARIABLE.fullmatch(variable):  # it may be the key itself, which is not to be repeated
        hint = "Put the key into a variable and give the variable's name."
        raise UsageError("--model-api-key-env takes the name of a variable, and this is none", hint=hint)
    key = os.environ.get(variable, "").strip()
    if not key:
        raise UsageError(f"the variable {variable} is empty or not set", hint=f"Set it: export {variable}=…")
    if not (key.isascii() and key.isprintable()):
        raise UsageError(f"the variable {variable} holds no key: it has letters that cannot be sent")
    return key


def blotted(content: bytes, key: str | None) -> bytes:
    """The content without a key that it repeats, plain or as JSON escapes it, however often it was written as JSON.

    JSON stays JSON. A key of digits alone would be taken out of numbers, and stays.
    """
    if key is None or len(key) < SHORTEST or key.isdigit():
        return content
    if any(mark in content for mark in _marks(key)):
        return _written(key).sub(_blot, content)
    return content.replace(key.encode(), BLOT)


def blotted_words(words: str, key: str | None) -> str:
    """The same for text."""
    return blotted(words.encode("utf-8", "surrogatepass"), key).decode("utf-8", "surrogatepass")


def _marks(key: str) -> tuple[bytes, ...]:
    """What a content has that may hold the key in another form than the plain one; most have nothing of it."""
    return (b"\\",) if ESCAPED.search(key) else (b"\\/", b"\\u00")


def _blot(found: re.Match[bytes]) -> bytes:
    """What stands for a key that was found, and the backslashes after it that escape a quote.

    Written as JSON n times, a quote has 2ⁿ - 1 of them and a backslash that ends the key is 2ⁿ: those of the quote are
    the ones at the end of their binary number.
    """
    row = len(found[0]) - len(found[0].rstrip(b"\\"))
    return BLOT + b"\\" * ((row ^ (row + 1)) >> 1)


@cache
def _written(key: str) -> re.Pattern[bytes]:
    r"""All forms of a key: each letter may have backslashes before it, or be written as `\u00XX`.

    The backslashes before the first letter are taken too, since what is left of an escape would be no JSON. Nothing
    is tried twice: a long row of backslashes takes no longer than other letters.
    """
    parts = [rb"(?<!\\)"]
    for letter, run in groupby(key):
        if letter == "\\":  # how many there are depends on how often it was written as JSON
            parts.append(rb"(?:%b)++" % BACKSLASH)
        else:
            form = rb"(?:%b)*+(?:%b|u00(?i:%02x))" % (BACKSLASH, re.escape(letter.encode()), ord(letter))
            parts += [form for _ in run]
    return re.compile(b"".join(parts))
