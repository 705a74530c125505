"""A configuration → sockets, agents and apps, served in one process."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import NamedTuple

from pipeline.collect.addresses import url_of
from pipeline.collect.environments.finding import environment
from pipeline.collect.head import Address
from pipeline.collect.serving.agent import Agent
from pipeline.collect.serving.apps import Tell, agent_app, head_app
from pipeline.collect.serving.config import DEMO, ModelConfig, ServersConfig
from pipeline.collect.serving.demo import Demo
from pipeline.collect.serving.demo_faults import Faults
from pipeline.collect.serving.model import MEGABYTE, Model
from pipeline.collect.serving.running import run_until_signalled
from pipeline.collect.serving.sockets import listening, port_of
from pipeline.collect.serving.upstream import Upstream


class Ready(NamedTuple):
    """Where everything is."""

    head: str
    model: str
    agents: dict[str, Address]


class Ended(NamedTuple):
    """How it ended.

    Attributes:
        number: The signal's; 0 where standard input ended.
        at_work: Whether an environment is still at work: only the end of the process ends that.
    """

    number: int
    at_work: bool


def serve(
    config: ServersConfig, *, key: str | None, with_stdin: bool, ready: Callable[[Ready], None], tell: Tell
) -> Ended:
    """Serves until a signal comes.

    Args:
        config: What to serve.
        key: The model's key.
        with_stdin: Whether to end when standard input does; the number is then 0.
        ready: Called once, when every port answers.
        tell: Called with a sentence for people when something unexpected goes wrong.

    Raises:
        RollprofError: An environment is not there, or a port is taken.
    """
    model = model_of(config.model, key=key, seed=config.seed)
    agents = [
        Agent(name, one.environment, environment(one.environment, one.options), model, tell=tell)
        for name, one in config.agents.items()
    ]
    held = _sockets(config)
    ports = [port_of(opened) for opened in held]
    addresses = {
        agent.name: Address(agent.name, agent.environment_name, config.host, port)
        for agent, port in zip(agents, ports[1:], strict=True)
    }
    places = Ready(url_of(config.host, ports[0]), model.name, addresses)
    apps = [head_app(addresses), *(agent_app(agent, tell) for agent in agents)]

    async def run() -> int:
        try:
            return await run_until_signalled(apps, held, ready=lambda: ready(places), with_stdin=with_stdin, tell=tell)
        finally:
            await model.close()

    try:
        number = asyncio.run(run())
        return Ended(number, at_work=any(agent.at_work for agent in agents))
    finally:
        _close(held)


def model_of(config: ModelConfig, *, key: str | None, seed: int) -> Model:
    """The model that a configuration describes."""
    max_bytes = int(config.max_response_mb * MEGABYTE)
    if config.name == DEMO or config.url is None:
        faults = Faults(config.faults)
        delay = config.delay_ms / 1000
        return Demo(seed=seed, faults=faults, delay=delay, timeout=config.timeout, max_bytes=max_bytes)
    return Upstream(
        config.name,
        config.url,
        key=key,
        timeout=config.timeout,
        max_connections=config.max_connections,
        max_bytes=max_bytes,
    )


def _sockets(config: ServersConfig) -> list[socket.socket]:
    """The head's socket, then one an agent."""
    held: list[socket.socket] = []
    try:
        held.append(listening(config.host, config.head_port, option="--head-port"))
        for place, agent in enumerate(config.agents.values()):
            following = config.port + place if config.port else 0
            port = agent.port if agent.port is not None else following
            held.append(listening(config.host, port, option="--port"))
    except BaseException:
        _close(held)
        raise
    return held


def _close(held: list[socket.socket]) -> None:
    for opened in held:
        opened.close()
