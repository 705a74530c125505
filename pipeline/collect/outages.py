"""Agents that are out of reach: their end is no failure of the rollouts that ran there.

As with NeMo Gym's kill-shaped failures, a rollout that was lost because its agent went away leaves no line and has used
no attempt: it is asked again when the agent is back, or by the next collector.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import NamedTuple

from pipeline.collect.client import is_reachable
from pipeline.errors import SourceError

LOOK_AFTER_SECONDS = 0.2
"""A process that was killed may take connections for a moment more."""
LOOK_EVERY_SECONDS = 0.5


class Watch(NamedTuple):
    """How long an agent may be away, and who knows that it will not come back.

    Attributes:
        patience: Seconds that it may be out of reach.
        ended: What ended it, in words, if that is known; else empty.
        again: What to type to go on.
    """

    patience: float
    ended: Callable[[], str]
    again: str


class Outages:
    """Waits for agents that are out of reach, once for all rollouts that are lost there."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.waits: dict[str, asyncio.Task[None]] = {}

    async def outlast(self, url: str) -> bool:
        """Whether an agent was out of reach, and is back now.

        Raises:
            SourceError: It has ended, or is not back within the time allowed.
        """
        await asyncio.sleep(LOOK_AFTER_SECONDS)
        if url not in self.waits:
            if await is_reachable(url):
                return False
            if url not in self.waits:  # as it may be by now
                self.waits[url] = asyncio.create_task(self._back(url))
        wait = self.waits[url]
        await asyncio.shield(wait)
        if self.waits.get(url) is wait:
            del self.waits[url]
        return True

    async def _back(self, url: str) -> None:
        began = time.monotonic()
        while True:
            ended = self.watch.ended()
            away = time.monotonic() - began
            if ended or away >= self.watch.patience:
                reason = ended or f"has been out of reach for {away:.0f} s (--patience)"
                raise SourceError(
                    f"the agent {reason}",
                    where=url,
                    hint=f"What finished is on disk; go on with\n  {self.watch.again}",
                )
            await asyncio.sleep(min(LOOK_EVERY_SECONDS, self.watch.patience / 4))
            if await is_reachable(url):
                return
