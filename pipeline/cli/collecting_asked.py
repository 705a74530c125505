"""The options of a collection: what is planned, who is asked, and how."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

import typer

from pipeline import names
from pipeline.cli.asked import MaxAttempts, SeedIfGiven


@dataclass(frozen=True)
class PlanAsked:
    """What is planned."""

    input: Annotated[
        Path | None,
        typer.Option("--input", "-i", help="Dataset, a JSON object a line; --resume goes without."),
    ] = None
    agent: Annotated[str | None, typer.Option("--agent", "-a", help="The agent of rows that name none.")] = None
    num_repeats: Annotated[
        list[str] | None, typer.Option("--num-repeats", "-n", help="N rollouts a row, or AGENT=N; repeatable.")
    ] = None
    num_repeats_add_seed: Annotated[
        bool, typer.Option("--num-repeats-add-seed", help="Give each repeat a seed in metadata.extra_body.")
    ] = False
    limit: Annotated[int | None, typer.Option(min=1, help="Rows to take from the dataset; else all.")] = None
    temperature: Annotated[float | None, typer.Option(min=0.0, help="For every row; else the row's own.")] = None
    top_p: Annotated[float | None, typer.Option(min=0.0, max=1.0, help="For every row; else its own.")] = None
    max_output_tokens: Annotated[int | None, typer.Option(min=1, help="For every row; else its own.")] = None

    @property
    def overrides(self) -> dict[str, float | int]:
        """What every row's `responses_create_params` gets."""
        given = {
            "temperature": self.temperature,
            "top_p": self.top_p,
            "max_output_tokens": self.max_output_tokens,
        }
        return {name: value for name, value in given.items() if value is not None}

    @property
    def options(self) -> list[str]:
        """The options that were given, by their names."""
        given = (one.name for one in fields(self) if getattr(self, one.name) != one.default)
        return [f"--{name.replace('_', '-')}" for name in given]


@dataclass(frozen=True)
class ServeAsked:
    """Who is asked."""

    no_serve: Annotated[bool, typer.Option("--no-serve", help="Ask agents that run already.")] = False
    head_server: Annotated[
        str | None, typer.Option(help="Where running agents are listed; else http://127.0.0.1:11000.")
    ] = None
    agent_url: Annotated[str | None, typer.Option(help="Ask this address, whatever agent a row names.")] = None
    config: Annotated[
        list[Path] | None, typer.Option("--config", "-c", help="FILE.yaml for env start; repeatable.")
    ] = None
    environment: Annotated[str | None, typer.Option("--environment", "-e", help="Environment for env start.")] = None
    model: Annotated[str | None, typer.Option("--model", "-m", help="Model for env start; else demo.")] = None
    model_url: Annotated[str | None, typer.Option(help="Its API, such as https://HOST/v1.")] = None
    model_api_key_env: Annotated[str | None, typer.Option(help="The variable that holds its key.")] = None
    demo_faults: Annotated[str | None, typer.Option(help="What the demo model gets wrong, as env start has it.")] = None
    demo_delay: Annotated[float | None, typer.Option(min=0.0, help="Milliseconds until the demo answers.")] = None
    seed: SeedIfGiven = None

    @property
    def for_child(self) -> list[str]:
        """The options of `env start` that were given."""
        given = {
            "--environment": self.environment,
            "--model": self.model,
            "--model-url": self.model_url,
            "--model-api-key-env": self.model_api_key_env,
            "--demo-faults": self.demo_faults,
            "--demo-delay": self.demo_delay,
            "--seed": self.seed,
        }
        configs = [word for path in self.config or () for word in ("--config", str(path))]
        return configs + [word for name, value in given.items() if value is not None for word in (name, str(value))]


@dataclass(frozen=True)
class AskAsked:
    """How they are asked."""

    output: Annotated[Path | None, typer.Option("--output", "-o", help="R.jsonl for the rollouts.")] = None
    resume: Annotated[bool, typer.Option("--resume", help="Go on with what is there.")] = False
    concurrency: Annotated[int, typer.Option(min=1, help="Rollouts at a time.")] = 32
    timeout: Annotated[float, typer.Option(min=0.001, help="Seconds for one rollout.")] = 1800.0
    max_attempts: MaxAttempts = names.MAX_ATTEMPTS
    backoff: Annotated[float, typer.Option(min=0.0, help="Seconds before the first retry; then twice as long.")] = 0.5
    patience: Annotated[float, typer.Option(min=0.0, help="Seconds an agent or its model may be out of reach.")] = 30.0
    max_answer_mb: Annotated[float, typer.Option(min=0.001, help="MB of the longest answer that is taken.")] = 64.0
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only warnings and refusals.")] = False
