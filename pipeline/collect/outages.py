"""Agents and models that are out of reach: that is no failure of the rollouts that were to run there.

As with NeMo Gym's kill-shaped failures, a rollout that was lost because its agent went away leaves no line and has used
no attempt: it is asked again when the agent is back, or by the next collector. So it is where an agent says that nobody
took the connection to its model. One that broke counts as an attempt: the rollout itself may have broken it.
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
        patience: Seconds that it, or its model, may be out of reach.
        ended: What ended it, in words, if that is known; else empty.
        again: What to type to go on.
    """

    patience: float
    ended: Callable[[], str]
    again: str


class Outages:
    """Waits for agents that are out of reach, once for all rollouts that are lost there, and for their models."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.waits: dict[str, asyncio.Task[None]] = {}
        self.answered: dict[str, float] = {}

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

    def heard(self, url: str) -> None:
        """Notes that an agent has answered, with anything but that its model is out of reach."""
        self.answered[url] = time.monotonic()

    async def outlast_model(self, url: str, *, since: float, said: str) -> None:
        """Waits a moment for the model of an agent.

        Args:
            url: The agent.
            since: When the rollout that asks found the model out of reach first, by the monotonic clock.
            said: What the agent says of it.

        Raises:
            SourceError: Neither this rollout nor another one has reached it within the time allowed.
        """
        away = time.monotonic() - max(since, self.answered.get(url, 0.0))
        if away >= self.watch.patience:
            raise self._ended(url, f"the model has been out of reach for {away:.0f} s (--patience): {said}")
        await asyncio.sleep(self._pause)

    @property
    def _pause(self) -> float:
        return min(LOOK_EVERY_SECONDS, self.watch.patience / 4)

    def _ended(self, url: str, message: str) -> SourceError:
        return SourceError(message, where=url, hint=f"What finished is on disk; go on with\n  {self.watch.again}")

    async def _back(self, url: str) -> None:
        began = time.monotonic()
        while True:
            ended = self.watch.ended()
            away = time.monotonic() - began
            if ended or away >= self.watch.patience:
                reason = ended or f"has been out of reach for {away:.0f} s (--patience)"
                raise self._ended(url, f"the agent {reason}")
            await asyncio.sleep(self._pause)
            if await is_reachable(url):
                return
