"""Who is asked in a collection: agents that run already, or those of an environment that is started for it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from pipeline.errors import UsageError

if TYPE_CHECKING:
    from pipeline.cli.collecting_asked import ServeAsked
    from pipeline.cli.console import Console
    from pipeline.collect.begun_with import Settings
    from pipeline.collect.options import AskOptions
    from pipeline.collect.outages import Watch
    from pipeline.collect.serving.config import ServersConfig

DEFAULT_HEAD = "http://127.0.0.1:11000"


class Agents(NamedTuple):
    """Who is asked.

    Attributes:
        urls: Where the agents are.
        watch: What is known of their end.
        key: The key of their model, where they are ours.
    """

    urls: Mapping[str, str]
    watch: Watch
    key: str | None = None


def check_serve(serve: ServeAsked) -> None:
    """Refuses options of one way to agents beside another.

    Raises:
        UsageError: They do not go together, or an address is none.
    """
    from pipeline.collect.addresses import base_url

    named = [
        option for option, given in (("--head-server", serve.head_server), ("--agent-url", serve.agent_url)) if given
    ]
    running = serve.no_serve or bool(named)
    if len(named) > 1:
        raise UsageError("--head-server and --agent-url exclude each other", hint="Leave one of them out.")
    for option, url in (("--head-server", serve.head_server), ("--agent-url", serve.agent_url)):
        if url is not None:
            base_url(url, option)
    given = [option for option in serve.for_child if option.startswith("--") and option != "--seed"]
    if running and given:
        raise UsageError(
            f"{given[0]} is for an environment that is started here",
            hint=f"Leave it out, or leave {', '.join(named) or '--no-serve'} out.",
        )


def own_servers(serve: ServeAsked) -> ServersConfig | None:
    """What an environment that is started here will serve; None where none is named.

    Raises:
        RollprofError: Its configuration cannot be read, or does not fit.
    """
    if serve.no_serve or serve.head_server or serve.agent_url or not (serve.config or serve.environment):
        return None
    from pipeline.cli.env_starting import Wanted, configured

    model = {
        "name": serve.model,
        "url": serve.model_url,
        "api_key_env": serve.model_api_key_env,
        "delay_ms": serve.demo_delay,
    }
    servers = {"seed": serve.seed}
    return configured(
        Wanted(tuple(serve.config or ()), serve.environment, None, servers, model, serve.demo_faults, with_stdin=True)
    )


def settings_of(own: ServersConfig | None) -> Settings | None:
    """What makes rollouts of an environment of our own others, as far as it is known."""
    if own is None:
        return None
    from pipeline.collect.serving.config import DEMO

    return {"model": own.model.name} | ({"seed": own.seed} if own.model.name == DEMO else {})


@contextlib.contextmanager
def found_agents(
    serve: ServeAsked, wanted: set[str], again: str, how: AskOptions, console: Console
) -> Iterator[Agents]:
    """Where the agents are; an environment of our own is started and stopped.

    Raises:
        RollprofError: They are not there, or the environment does not start.
    """
    from pipeline.collect.addresses import base_url
    from pipeline.collect.agents import agents_of, check_reachable, needed
    from pipeline.collect.outages import Watch

    if not wanted:
        yield Agents({}, Watch(how.patience, str, again))
        return
    if serve.agent_url is not None:
        url = base_url(serve.agent_url, "--agent-url")
        urls = dict.fromkeys(sorted(wanted), url)
    elif serve.no_serve or serve.head_server is not None:
        head = base_url(serve.head_server or DEFAULT_HEAD, "--head-server")
        urls = needed(asyncio.run(agents_of(head)), wanted, where=head)
    else:
        from pipeline.collect.api_key import api_key
        from pipeline.collect.started import started

        with started(serve.for_child) as child:
            urls = needed(child.agents, wanted, where="the environment started here")
            console.say(f"asking {child.model} by {', '.join(urls)}")
            yield Agents(urls, Watch(how.patience, child.ended, again), api_key(child.key_variable))
            for line in child.last_lines():
                console.say(line)
        return
    asyncio.run(check_reachable(urls))
    yield Agents(urls, Watch(how.patience, str, again))
