"""Pools of serialised elements: any run of them is cut out as one JSON value without serialising it again."""

from __future__ import annotations

import json
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import orjson

if TYPE_CHECKING:
    from random import Random

_WORDS = (
    *("the", "model", "solution", "method", "yields", "number", "gamma", "delta", "answer", "turn", "we"),
    *("next", "verify", "output", "y = 7;", "because", "consequently", "[3,4]"),
    *('"cited"', "line\n", "café", "⇒", "中文", "\\sqrt{2}{3}", '{"reward": 1}', "dir\\file"),
)
_WORD_COUNT = 40_000
_NUMBER_COUNT = 50_000
_VOCABULARY = 150_000


class Pool:
    """Serialised elements, kept as one block of bytes with the place where each of them starts."""

    def __init__(self, elements: list[bytes], *, separator: bytes, brackets: tuple[bytes, bytes]) -> None:
        """Join `elements`; `brackets` stand around every value cut out of them."""
        self._block = separator.join(elements) + separator
        self._starts = list(accumulate((len(element) + len(separator) for element in elements), initial=0))
        self._separator = separator
        self._brackets = brackets

    def cut(self, length: int, *, rng: Random) -> orjson.Fragment:
        """A JSON value of `length` neighbouring elements, from a random place."""
        start = rng.randrange(len(self._starts) - length)
        first, last = self._starts[start], self._starts[start + length] - len(self._separator)
        opening, closing = self._brackets
        return orjson.Fragment(opening + self._block[first:last] + closing)


class Material(NamedTuple):
    """What rows are cut from."""

    text: Pool
    token_ids: Pool
    log_probs: Pool
    arguments: list[orjson.Fragment]


def material(rng: Random) -> Material:
    """Text with escapes and wide characters, token ids, log-probabilities, arguments of tool calls."""
    prose = " ".join(rng.choices(_WORDS, k=_WORD_COUNT))
    escaped = {character: orjson.dumps(character)[1:-1] for character in set(prose)}
    return Material(
        text=Pool([escaped[character] for character in prose], separator=b"", brackets=(b'"', b'"')),
        token_ids=_numbers(rng.choices(range(_VOCABULARY), k=_NUMBER_COUNT)),
        log_probs=_numbers([-abs(rng.gauss(0, 0.7)) for _ in range(_NUMBER_COUNT)]),
        arguments=[_arguments(prose, rng=rng) for _ in range(500)],
    )


def _numbers(values: list[int] | list[float]) -> Pool:
    return Pool(orjson.dumps(values)[1:-1].split(b","), separator=b",", brackets=(b"[", b"]"))


def _arguments(prose: str, *, rng: Random) -> orjson.Fragment:
    """JSON as text within JSON, escaped twice, as tool calls carry it."""
    start = rng.randrange(len(prose) - 150)
    arguments = json.dumps({"a": prose[start : start + 150], "usage": {"input_tokens": 1}})
    return orjson.Fragment(orjson.dumps(arguments))
