"""A bounded number of threads for what an environment does without `await`: it may take long, and holds nobody up."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple

MOST = 32


class Outcome(NamedTuple):
    """What a call returned, or what it raised: some errors, such as StopIteration, cannot be handed on by raising."""

    value: Any = None
    error: BaseException | None = None


class Threads:
    """Threads that are started as they are needed, and end with the process whatever they do.

    Args:
        most: How many calls run at a time; more of them wait for their turn.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._started = 0
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self.at_work = 0

    async def outcome(self, call: Callable[[], Any]) -> Outcome:
        """What comes of a call; one whose turn has not come when the caller goes away is left out."""
        loop = asyncio.get_running_loop()
        coming: asyncio.Future[Outcome] = loop.create_future()

        def settle(outcome: Outcome) -> None:
            self.at_work -= 1
            if not coming.done():
                coming.set_result(outcome)

        def job() -> None:
            outcome = Outcome() if coming.done() else _outcome(call)
            with contextlib.suppress(RuntimeError):  # the servers have stopped meanwhile
                loop.call_soon_threadsafe(settle, outcome)

        self.at_work += 1
        if self._started < min(self.at_work, self._most):
            self._started += 1
            Thread(target=self._work, name="environment", daemon=True).start()
        self._jobs.put(job)
        return await coming

    def _work(self) -> None:
        while True:
            self._jobs.get()()


def _outcome(call: Callable[[], Any]) -> Outcome:
    try:
        return Outcome(call())
    except BaseException as error:  # noqa: BLE001 - sys.exit() too ends one call, not the servers
        return Outcome(error=error)
