"""`rollprof env start`: an environment, its agents and a model to ask, until it is stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.asked import SeedIfGiven
from pipeline.cli.console import Console


def env_start(
    config: Annotated[
        list[Path] | None, typer.Option("--config", "-c", help="FILE.yaml with agents and a model; repeatable.")
    ] = None,
    environment: Annotated[
        str | None,
        typer.Option("--environment", "-e", help="numeric_answer, multiple_choice or module:Class of your own."),
    ] = None,
    agent_name: Annotated[str | None, typer.Option(help="The agent's name; else ENVIRONMENT_agent.")] = None,
    model: Annotated[str | None, typer.Option(help="The model's name; else demo, which needs no network.")] = None,
    model_url: Annotated[str | None, typer.Option(help="Its API, such as https://HOST/v1.")] = None,
    model_api_key_env: Annotated[str | None, typer.Option(help="The variable that holds its key.")] = None,
    model_timeout: Annotated[float | None, typer.Option(help="Seconds for one answer; else 600.")] = None,
    host: Annotated[str | None, typer.Option(help="The address to listen at; else 127.0.0.1, this machine.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="The first agent's port, the others follow; 0 for free ones.")
    ] = None,
    head_port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Where collectors look for agents; else 11000, 0 for a free one."),
    ] = None,
    seed: SeedIfGiven = None,
    demo_faults: Annotated[
        str | None, typer.Option(help="KIND=SHARE or KIND=always:SHARE, separated by commas, such as errors=0.02.")
    ] = None,
    demo_delay: Annotated[float | None, typer.Option(min=0, help="Milliseconds until the demo answers.")] = None,
    exit_with_stdin: Annotated[
        bool, typer.Option("--exit-with-stdin", help="Stop when standard input ends: with whoever started this.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the addresses as one JSON object.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only the addresses, warnings, refusals.")] = False,
) -> None:
    """Serve an environment: an agent's POST /run takes a row, asks the model, verifies, and returns the result."""
    from pipeline.cli.env_starting import Wanted, start

    wanted = Wanted(
        configs=tuple(config or ()),
        environment=environment,
        agent_name=agent_name,
        servers={"host": host, "port": port, "head_port": head_port, "seed": seed},
        model={
            "name": model,
            "url": model_url,
            "api_key_env": model_api_key_env,
            "timeout": model_timeout,
            "delay_ms": demo_delay,
        },
        demo_faults=demo_faults,
        with_stdin=exit_with_stdin,
    )
    raise typer.Exit(start(wanted, Console(as_json=as_json, quiet=quiet)))
