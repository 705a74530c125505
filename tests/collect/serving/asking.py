"""Agents and the demo model asked in this process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any

from pipeline.collect.environments.finding import environment
from pipeline.collect.serving.agent import Agent
from pipeline.collect.serving.demo import Demo
from pipeline.collect.serving.demo_faults import Faults, parsed
from pipeline.collect.serving.faults import RolloutFaultError

Row = dict[str, Any]
MAX_BYTES = 8 << 20


def demo(*, seed: int = 0, faults: str = "", delay: float = 0.0, timeout: float = 60.0) -> Demo:
    """A demo model."""
    return Demo(seed=seed, faults=Faults(parsed(faults)), delay=delay, timeout=timeout, max_bytes=MAX_BYTES)


def agent(model: Demo, environment_name: str = "numeric_answer") -> Agent:
    """An agent that asks it."""
    return Agent("an_agent", environment_name, environment(environment_name), model)


def results(asked: Agent, rows: Iterable[Row], *, together: bool = False) -> list[Row | RolloutFaultError]:
    """What comes of each row, asked one after the other or all at once."""

    async def run() -> list[Row | RolloutFaultError]:
        runs = [_result(asked, row) for row in rows]
        return list(await asyncio.gather(*runs)) if together else [await one for one in runs]

    return asyncio.run(run())


def finished(asked: Agent, rows: Iterable[Row]) -> list[Row]:
    """The results of rows that all finish."""
    found = results(asked, rows)
    assert not [one for one in found if isinstance(one, RolloutFaultError)]
    return [one for one in found if isinstance(one, dict)]


async def _result(asked: Agent, row: Row) -> Row | RolloutFaultError:
    try:
        found: Row = json.loads(await asked.run(row))
    except RolloutFaultError as fault:
        return fault
    return found
