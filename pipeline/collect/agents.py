"""Where the agents of planned rollouts are: said by an address, or by a head server as NeMo Gym's answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from pipeline.collect.addresses import is_url
from pipeline.collect.client import fetched, is_reachable
from pipeline.collect.head import CONFIG, urls_in
from pipeline.errors import SourceError, UsageError
from pipeline.sources.yaml_files import yaml_value


async def agents_of(head: str) -> dict[str, str]:
    """The address of every agent that a head server knows.

    Raises:
        SourceError: It cannot be asked, or answers something else.
    """
    url = f"{head}{CONFIG}"
    text = await fetched(url)
    try:
        config = yaml_value(text) if isinstance(text, str) else None
    except ValueError:
        config = None
    if not isinstance(config, dict):
        raise SourceError("answers no configuration", where=url, hint="Is that a head server of rollprof or NeMo Gym?")
    return urls_in(config)


def needed(agents: Mapping[str, str], wanted: Iterable[str], *, where: str) -> dict[str, str]:
    """The addresses of the agents that are wanted.

    Raises:
        UsageError: Some of them are not there; all of these are named.
        SourceError: The address of one is none.
    """
    wanted = sorted(set(wanted))
    missing = [name for name in wanted if name not in agents]
    if missing:
        close = get_close_matches(missing[0], agents, n=1)
        meant = f"Did you mean {close[0]}? " if close else ""
        raise UsageError(
            f"no agent is called {', '.join(missing)}",
            where=where,
            hint=f"{meant}There are {', '.join(sorted(agents)) or 'none'}; rows say theirs in agent_ref.name.",
        )
    for name in wanted:
        if not is_url(agents[name]):
            raise SourceError(
                f"gives the agent {name} the address {agents[name]}, which is none",
                where=where,
                hint="Mend its host and port there, or name the agent's address with --agent-url.",
            )
    return {name: agents[name] for name in wanted}


async def check_reachable(agents: Mapping[str, str]) -> None:
    """Finds out before anything is sent whether agents can be reached.

    Raises:
        SourceError: One cannot.
    """
    urls = sorted(set(agents.values()))
    reached = await asyncio.gather(*map(is_reachable, urls))
    for url, good in zip(urls, reached, strict=True):
        if not good:
            raise SourceError("cannot be reached", where=url, hint="Is the agent running? Nothing was sent.")
