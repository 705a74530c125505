"""Planned rollouts → lines: so many at a time, retried where that may help, each written as soon as it is there."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from pipeline import names
from pipeline.collect.answers import Answer, Failure, Read, failed, model_out_of_reach, not_coped_with, read_answer
from pipeline.collect.api_key import blotted, blotted_words
from pipeline.collect.client import ConnectionFault, ask, session
from pipeline.collect.keyed_rows import Key
from pipeline.collect.ledger import Ledger
from pipeline.collect.options import AskOptions
from pipeline.collect.outages import Outages, Watch
from pipeline.collect.plans import Slot, line_of
from pipeline.errors import RollprofError
from pipeline.sources.text import with_members, with_more

if TYPE_CHECKING:
    import aiohttp

LONGEST_PAUSE = 30.0
SYNC_SECONDS = 5.0
MOST_DOUBLINGS = 64


class Work(NamedTuple):
    """What is to be collected, from whom, and where to.

    Attributes:
        slots: The rollouts to be asked, in order.
        plan: The open file of the materialized inputs.
        attempts: Failed attempts of earlier collectors.
        agents: The address of each agent.
        ledger: The files that lines are appended to.
        key: The model's key, where it is known; it is written nowhere.
    """

    slots: Sequence[Slot]
    plan: int
    attempts: Counter[Key]
    agents: Mapping[str, str]
    ledger: Ledger
    key: str | None = None


@dataclass
class Tally:
    """What has come so far.

    Attributes:
        finished: How many rollouts finished.
        failed: Rollouts given up for now, with the class of their last attempt.
        final: Those of them that are never asked again.
        spent: Those of them that are out of attempts, with how many these were.
        attempts: How many attempts failed.
        rewards: The sum of the rewards that are numbers, and how many those are.
        no_usage: Rollouts that do not say how many tokens were used.
        nulls: NaN and Infinity that were made null.
    """

    finished: int = 0
    failed: dict[Key, str] = field(default_factory=dict)
    final: set[Key] = field(default_factory=set)
    spent: dict[Key, int] = field(default_factory=dict)
    attempts: int = 0
    rewards: tuple[float, int] = (0.0, 0)
    no_usage: int = 0
    nulls: int = 0

    @property
    def reward(self) -> float | None:
        """The mean reward so far."""
        return self.rewards[0] / self.rewards[1] if self.rewards[1] else None

    def add(self, read: Read) -> None:
        """Counts a line."""
        self.nulls += read.nulls
        if read.failure is not None:
            self.attempts += 1
            return
        self.finished += 1
        self.no_usage += not read.usage
        if read.reward is not None:
            self.rewards = (self.rewards[0] + read.reward, self.rewards[1] + 1)

    def give_up(self, key: Key, failure: Failure, *, attempts: int, max_attempts: int) -> None:
        """Counts a rollout that is not asked again for now, by what the next collector will do with it."""
        self.failed[key] = failure.kind
        if failure.kept and failure.terminal:
            self.final.add(key)
        elif failure.kept and attempts >= max_attempts:
            self.spent[key] = attempts


Tell = Callable[[Tally], None]


async def collect(work: Work, options: AskOptions, watch: Watch, tell: Tell) -> Tally:
    """Asks for every rollout and appends what comes.

    Raises:
        SourceError: A line cannot be written, or an agent or its model stays out of reach.
    """
    async with session(options) as opened:
        asking = Asking(work, options, opened, Outages(watch), tell)
        queue = iter(work.slots)
        number = min(options.concurrency, len(work.slots))
        tasks = [asyncio.create_task(asking.work_off(queue)) for _ in range(number)]
        tasks.append(asyncio.create_task(_syncing(work.ledger)))
        try:
            await _all_but_last(tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, *asking.outages.waits.values(), return_exceptions=True)
    return asking.tally


async def _all_but_last(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Waits for the tasks before the last, or until any of them fails, whose error is raised."""
    *workers, syncing = tasks
    pending = set(workers)
    while pending:
        done, rest = await asyncio.wait({*pending, syncing}, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
        pending = rest - {syncing}


async def _syncing(ledger: Ledger) -> None:
    while True:
        await asyncio.sleep(SYNC_SECONDS)
        await asyncio.to_thread(ledger.sync)


class Asking:
    """One collection at work: its session, and the pauses that agents have asked for."""

    def __init__(
        self, work: Work, options: AskOptions, opened: aiohttp.ClientSession, outages: Outages, tell: Tell
    ) -> None:
        self.work = work
        self.options = options
        self.opened = opened
        self.outages = outages
        self.tell = tell
        self.tally = Tally()
        self.paused: dict[str, float] = {}

    async def work_off(self, queue: Iterator[Slot]) -> None:
        """Asks for one rollout after another."""
        for slot in queue:
            await self.settle(slot)

    async def settle(self, slot: Slot) -> None:
        """Asks for a rollout until it is finished, given up, or out of attempts."""
        attempt = self.work.attempts[slot.key]
        while True:
            read, after = await self.attempt(slot, attempt)
            if read.failure is None:
                self.work.ledger.rollouts.append(read.line)
            elif read.failure.kept:
                self.work.ledger.failures.append(read.line)
            self.tally.add(read)
            attempt += 1
            if read.failure is None or not read.failure.retried or attempt >= self.options.max_attempts:
                break
            self.tell(self.tally)
            await asyncio.sleep(max(after, self.pause(slot.key, attempt)))
        if read.failure is not None:
            most = self.options.max_attempts
            self.tally.give_up(slot.key, read.failure, attempts=attempt, max_attempts=most)
        self.tell(self.tally)

    async def attempt(self, slot: Slot, attempt: int) -> tuple[Read, float]:
        """What one attempt brings, and how many seconds the agent wants to be left alone."""
        url = self.work.agents[slot.agent]
        row = line_of(self.work.plan, slot)
        stamp = with_members if names.ATTEMPT.encode() in row else with_more
        after = 0.0
        found: Answer | Read | Failure
        try:
            found = await self.answer(url, stamp(row, {names.ATTEMPT: b"%d" % attempt}))
            if isinstance(found, Answer):
                after = self.pause_asked(url, found.retry_after)
                found = read_answer(found._replace(body=blotted(found.body, self.work.key)), slot, attempt)
        except RollprofError:  # an agent that stays away, which is no matter of one rollout
            raise
        except Exception as error:  # noqa: BLE001 - it is told in the line, and ends no other rollout
            found = not_coped_with(error)
        if isinstance(found, Read):
            return found, after
        return failed(found._replace(message=blotted_words(found.message, self.work.key)), slot, attempt), after

    async def answer(self, url: str, row: bytes) -> Answer | Failure:
        """What the agent answers; it is asked again where it, or its model, went away and came back."""
        outages, lost = 0, 0.0
        while True:
            await self.wait_for(url)
            try:
                found = await ask(self.opened, url, row, self.options)
            except ConnectionFault as fault:
                outages += 1
                if not await self.outages.outlast(url) or outages > self.options.max_attempts:
                    return fault.failure
                lost = 0.0
                continue
            if isinstance(found, Failure):
                return found
            said = model_out_of_reach(found)
            if not said:
                self.outages.heard(url)
                return found
            lost = lost or time.monotonic()
            await self.outages.outlast_model(url, since=lost, said=blotted_words(said, self.work.key))

    async def wait_for(self, url: str) -> None:
        """Waits as long as the agent has asked for."""
        while (left := self.paused.get(url, 0.0) - time.monotonic()) > 0:  # noqa: ASYNC110 - it may become longer
            await asyncio.sleep(left)

    def pause_asked(self, url: str, seconds: float) -> float:
        """Keeps everybody from an agent that wants to be left alone for a while."""
        if seconds > 0:
            self.paused[url] = max(self.paused.get(url, 0.0), time.monotonic() + seconds)
        return seconds

    def pause(self, key: Key, attempt: int) -> float:
        """Seconds before the next attempt: twice as long each time, and up to half of it left to chance."""
        chance = random.Random(f"{self.options.seed} {key[0]} {key[1]} {attempt}").uniform(0.5, 1.0)  # noqa: S311
        return min(LONGEST_PAUSE, self.options.backoff * 2.0 ** min(attempt - 1, MOST_DOUBLINGS)) * chance
