"""What a head server says of agents, in NeMo Gym's configuration: written by ours, read from anyone's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from pipeline.collect.addresses import EVERY_ADDRESS, url_of

CONFIG = "/global_config_dict_yaml"
"""Where it says it: YAML, as a JSON string."""
GROUP = "responses_api_agents"


class Address(NamedTuple):
    """Where an agent is."""

    name: str
    environment: str
    host: str
    port: int

    @property
    def url(self) -> str:
        """The address to post to from this machine."""
        return url_of(self.host, self.port)


def config_yaml(addresses: Mapping[str, Address], *, called: str) -> str:
    """The agents as NeMo Gym's configuration writes them.

    The collector of its 0.7 reaches an agent only through an environment server that names it, so each has one, which
    is the agent's own port.

    Args:
        addresses: Where they are.
        called: The host by which the head was called: where agents listen at every address, theirs is this one.
    """
    import yaml

    content: dict[str, Any] = {}
    for name, one in addresses.items():
        place = {"entrypoint": "app.py", "host": called if one.host in EVERY_ADDRESS else one.host, "port": one.port}
        content[name] = {GROUP: {name: place}}
        relay = {**place, "agent_server": {"type": GROUP, "name": name}}
        content[_unused(f"{name}_environment_server", addresses)] = {"environment_servers": {"legacy_agent": relay}}
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True)


def urls_in(config: Mapping[Any, Any]) -> dict[str, str]:
    """The addresses of the agents in such a configuration, by their names."""
    found = {str(name): _url(entry) for name, entry in config.items()}
    return {name: url for name, url in found.items() if url is not None}


def _unused(name: str, addresses: Mapping[str, Address]) -> str:
    return _unused(f"{name}_", addresses) if name in addresses else name


def _url(entry: Any) -> str | None:
    """The address in `{responses_api_agents: {…: {host, port}}}`; None where it is something else."""
    group = entry.get(GROUP) if isinstance(entry, dict) else None
    first = next(iter(group.values()), None) if isinstance(group, dict) else None
    if not isinstance(first, dict) or type(first.get("port")) is not int:
        return None
    return url_of(str(first.get("host") or "127.0.0.1"), first["port"])
