"""Where the agents of planned rollouts are: said by an address, or by a head server as NeMo Gym's answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any
from urllib.parse import urlsplit

from pipeline.collect.client import fetched, is_reachable
from pipeline.errors import SourceError, UsageError
from pipeline.sources.yaml_files import yaml_value

CONFIG = "/global_config_dict_yaml"
GROUP = "responses_api_agents"
ANY_HOST = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what servers say that listen everywhere


def checked_url(text: str, option: str) -> str:
    """An address without the slash at its end.

    Raises:
        UsageError: It is none.
    """
    try:
        parts = urlsplit(text)
        good = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise UsageError(f"{option} {text!r} is no address", hint="Write it like http://127.0.0.1:11000.")
    return text.rstrip("/")


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
    found = {str(name): _address(entry) for name, entry in config.items()}
    return {name: address for name, address in found.items() if address is not None}


def _address(entry: Any) -> str | None:
    """The address in `{responses_api_agents: {…: {host, port}}}`; None where it is something else."""
    group = entry.get(GROUP) if isinstance(entry, dict) else None
    first = next(iter(group.values()), None) if isinstance(group, dict) else None
    if not isinstance(first, dict) or not isinstance(first.get("port"), int):
        return None
    host = str(first.get("host") or "127.0.0.1")
    host = ANY_HOST.get(host, host)
    return f"http://[{host}]:{first['port']}" if ":" in host else f"http://{host}:{first['port']}"


def needed(agents: Mapping[str, str], wanted: Iterable[str], *, where: str) -> dict[str, str]:
    """The addresses of the agents that are wanted.

    Raises:
        UsageError: Some of them are not there; all of these are named.
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
