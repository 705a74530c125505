"""All ports in one process, from the sockets to the signal that ends it."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from pipeline.collect.environments.finding import environment
from pipeline.collect.serving.agent import Agent
from pipeline.collect.serving.apps import Address, Tell, agent_app, config_yaml, head_app, url_of
from pipeline.collect.serving.config import DEMO, ModelConfig, ServersConfig
from pipeline.collect.serving.demo import Demo
from pipeline.collect.serving.demo_faults import Faults
from pipeline.collect.serving.model import MEGABYTE, Model
from pipeline.collect.serving.sockets import listening, port_of
from pipeline.collect.serving.upstream import Upstream

if TYPE_CHECKING:
    from fastapi import FastAPI
    from uvicorn import Server

ENDING = ("SIGINT", "SIGTERM", "SIGHUP")
GRACE_SECONDS = 1
KEEP_ALIVE_SECONDS = 75
"""Longer than clients keep a connection, so that none is closed while a request is on its way."""
SILENT = 100
"""Above every level of logging: what is to be said is said by the command."""
ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 - what users may listen at


class Ready(NamedTuple):
    """Where everything is."""

    head: str
    model: str
    agents: dict[str, Address]


def serve(config: ServersConfig, *, key: str | None, ready: Callable[[Ready], None], tell: Tell) -> int:
    """Serves until a signal comes; returns its number.

    Args:
        config: What to serve.
        key: The model's key.
        ready: Called once, when every port answers.
        tell: Called with a sentence for people when something unexpected goes wrong.

    Raises:
        RollprofError: An environment is not there, or a port is taken.
    """
    environments = {name: environment(one.environment, one.options) for name, one in config.agents.items()}
    held = _sockets(config)

    async def run() -> int:
        model = model_of(config.model, key=key, seed=config.seed)
        agents = [Agent(name, config.agents[name].environment, environments[name], model) for name in environments]
        addresses = {
            agent.name: Address(agent.name, agent.environment_name, _reachable(config.host), port_of(opened))
            for agent, opened in zip(agents, held[1:], strict=True)
        }
        apps = [head_app(addresses, config_yaml(addresses)), *(agent_app(agent, tell) for agent in agents)]
        head = url_of(_reachable(config.host), port_of(held[0]))
        try:
            return await _until_signalled(apps, held, lambda: ready(Ready(head, model.name, addresses)))
        finally:
            await model.close()

    try:
        return asyncio.run(run())
    finally:
        for opened in held:
            opened.close()


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
        for opened in held:
            opened.close()
        raise
    return held


def _reachable(host: str) -> str:
    """The address to call where a host means every one of this machine."""
    return ANY_ADDRESS.get(host, host)


async def _until_signalled(apps: list[FastAPI], held: list[socket.socket], ready: Callable[[], None]) -> int:
    servers = [_server(app) for app in apps]
    with _signal() as signalled:
        serving = [asyncio.ensure_future(one.serve([opened])) for one, opened in zip(servers, held, strict=True)]
        try:
            while not all(server.started for server in servers):
                await asyncio.sleep(0.005)
                for one in serving:
                    if one.done():
                        one.result()
            ready()
            return await signalled
        finally:
            for server in servers:
                server.should_exit = True
            await asyncio.gather(*serving)


def _server(app: FastAPI) -> Server:
    import uvicorn

    class QuietServer(uvicorn.Server):
        """One that leaves signals to the command."""

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    return QuietServer(
        uvicorn.Config(
            app,
            log_config=None,
            log_level=SILENT,
            access_log=False,
            lifespan="off",
            ws="none",
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=GRACE_SECONDS,
            backlog=2048,
        )
    )


@contextmanager
def _signal() -> Iterator[asyncio.Future[int]]:
    """The number of the first signal that ends the servers; one that is ignored already stays so."""
    loop = asyncio.get_running_loop()
    signalled: asyncio.Future[int] = loop.create_future()

    def end(number: int) -> None:
        if not signalled.done():
            signalled.set_result(number)

    before = {}
    for name in ENDING:
        number = getattr(signal, name, None)
        if number is not None and (handler := signal.getsignal(number)) is not signal.SIG_IGN:
            before[number] = handler
            loop.add_signal_handler(number, end, int(number))
    try:
        yield signalled
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)
