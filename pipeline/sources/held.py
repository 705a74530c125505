"""A setting of the whole process that several threads need for a while."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Held(Generic[T]):
    """Holds while anybody is within: the first sets it, the last puts back what was before."""

    def __init__(self, begin: Callable[[], T], end: Callable[[T], object]) -> None:
        """Makes a setting that nobody holds yet.

        Args:
            begin: Sets it, and says what was before.
            end: Puts that back.
        """
        self._begin = begin
        self._end = end
        self._lock = threading.Lock()
        self._before: list[T] = []
        self._within = 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._within:
                self._before.append(self._begin())
            self._within += 1

    def __exit__(self, *_exception: object) -> None:
        with self._lock:
            self._within -= 1
            if not self._within:
                self._end(self._before.pop())
