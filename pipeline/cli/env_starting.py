"""Options and files → servers that run until a signal ends them."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.cli.console import print_bytes
from pipeline.cli.signals import WORDS
from pipeline.collect.api_key import api_key
from pipeline.collect.installed import need_extra
from pipeline.collect.serving.config import LIKE, ServersConfig, checked, merged
from pipeline.collect.serving.demo_faults import parsed
from pipeline.collect.serving.running import SIGNALLED
from pipeline.errors import Exit, UsageError
from pipeline.leftovers import say_at_the_end
from pipeline.names import shown
from pipeline.sources.yaml_files import read_yaml

if TYPE_CHECKING:
    from pipeline.cli.console import Console
    from pipeline.collect.serving.servers import Ready


class Wanted(NamedTuple):
    """What was asked for; None where nothing was said."""

    configs: tuple[Path, ...]
    environment: str | None
    agent_name: str | None
    servers: dict[str, Any]
    model: dict[str, Any]
    demo_faults: str | None
    with_stdin: bool


def start(wanted: Wanted, console: Console) -> int:
    """Serves, says where, and returns the exit code.

    Raises:
        RollprofError: The configuration is wrong, a package or a key is missing, or a port is taken.
    """
    need_extra("rollprof env start")
    config = configured(wanted)
    key = api_key(config.model.api_key_env)
    from pipeline.collect.serving.servers import serve

    say_at_the_end("the servers have stopped")
    result = sys.stdout

    def say(ready: Ready) -> None:
        with redirect_stdout(result):
            _say(ready, config.model.api_key_env, console)

    with redirect_stdout(sys.stderr):  # what an environment prints is no result, and nobody may read it there
        ended = serve(config, key=key, with_stdin=wanted.with_stdin, ready=say, tell=console.warn)
    why = WORDS[signal.Signals(ended.number).name] if ended.number else "Standard input ended"
    console.say(f"rollprof: {why}; the servers have stopped.")
    code = SIGNALLED + ended.number if ended.number else int(Exit.DONE)
    if ended.at_work:  # Python would end in its own time, and stumble over what its threads hold
        os._exit(code)
    return code


def configured(wanted: Wanted) -> ServersConfig:
    """The configuration: the files in their order, then the options.

    Raises:
        RollprofError: A file cannot be read, or something does not fit.
    """
    contents = [read_yaml(path, hint=LIKE) for path in wanted.configs]
    model = {name: value for name, value in wanted.model.items() if value is not None}
    if wanted.demo_faults is not None:
        model["faults"] = parsed(wanted.demo_faults)
    options = {name: value for name, value in wanted.servers.items() if value is not None}
    contents.append({**options, **({"model": model} if model else {}), **_agents(wanted)})
    where = ", ".join(shown(path) for path in wanted.configs)
    return checked(merged(contents), where=where)


def _agents(wanted: Wanted) -> dict[str, Any]:
    """The agent that the options name."""
    if wanted.configs:
        for option, value in (("--environment", wanted.environment), ("--agent-name", wanted.agent_name)):
            if value is not None:
                raise UsageError(
                    f"{option} goes without --config", hint="Name the agent in the file, or leave one out."
                )
        return {}
    if wanted.environment is None:
        hint = "Say --environment numeric_answer, or --config FILE.yaml."
        raise UsageError("there is nothing to serve", hint=hint)
    named_after = f"{wanted.environment.rpartition(':')[2]}_agent"
    name = named_after if wanted.agent_name is None else wanted.agent_name
    return {"agents": {name: {"environment": wanted.environment}}}


def _say(ready: Ready, key_variable: str | None, console: Console) -> None:
    agents = {name: {"url": one.url, "environment": one.environment} for name, one in ready.agents.items()}
    console.object({"head": ready.head, "model": ready.model, "model_api_key_env": key_variable, "agents": agents})
    if not console.as_json:
        listed = " ".join(f"{name} {one.url}" for name, one in ready.agents.items())
        print_bytes(f"ready: {listed} · head {ready.head}\n".encode())
