"""Numbers that look random and depend on nothing but what they are drawn for."""

from __future__ import annotations

from hashlib import blake2b
from math import cos, log, pi, sqrt
from typing import TypeVar

T = TypeVar("T")


class Draws:
    """Draws for one thing, such as one rollout; each draw has a word, so the order in which they are made is free."""

    def __init__(self, *parts: object) -> None:
        self._state = blake2b("\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass"), digest_size=16)

    def share(self, word: str) -> float:
        """A number from 0 to just under 1, all equally likely."""
        return self._bits(word) / 2**64

    def normal(self, word: str) -> float:
        """A number of the standard normal distribution, by the formula of Box and Muller."""
        radius = sqrt(-2 * log(1 - self.share(f"{word} radius")))
        return radius * cos(2 * pi * self.share(f"{word} angle"))

    def choice(self, word: str, choices: list[T] | tuple[T, ...]) -> T:
        """One of these."""
        return choices[self._bits(word) % len(choices)]

    def hex(self, word: str) -> str:
        """Sixteen hexadecimal digits."""
        return f"{self._bits(word):016x}"

    def _bits(self, word: str) -> int:
        state = self._state.copy()
        state.update(word.encode())
        return int.from_bytes(state.digest()[:8], "big")
