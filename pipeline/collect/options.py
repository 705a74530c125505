"""What was asked of a collection, as frozen models."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from pipeline import names
from pipeline.errors import UsageError

DEFAULT = "_default"
"""The name that stands for every agent without repeats of its own, as the peer spells it."""
MEGABYTE = 1 << 20
MOST_REPEATS = 1_000_000
"""A row gets fewer rollouts than that."""
SHOWN = 40


class PlanOptions(BaseModel):
    """How the rows of a dataset become planned rollouts.

    Attributes:
        agent: The agent of rows that name none.
        repeats: How many rollouts a row gets, by its agent's name or `_default`.
        add_seed: Whether each rollout's index is its seed, in `metadata.extra_body`.
        limit: How many rows are taken; None for all.
        overrides: Members of `responses_create_params` that every row gets.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    agent: str | None = None
    repeats: dict[str, int] = Field(default_factory=lambda: {DEFAULT: 1})
    add_seed: bool = False
    limit: int | None = Field(default=None, ge=1)
    overrides: dict[str, Any] = Field(default_factory=dict)

    @field_validator("overrides")
    @classmethod
    def _finite(cls, overrides: dict[str, Any]) -> dict[str, Any]:
        return {name: finite(value, name) if isinstance(value, float) else value for name, value in overrides.items()}

    def repeats_of(self, agent: str) -> int | None:
        """How many rollouts a row of this agent gets; None where nothing is said."""
        return self.repeats.get(agent, self.repeats.get(DEFAULT))


class AskOptions(BaseModel):
    """How agents are asked.

    Attributes:
        concurrency: How many rollouts run at a time.
        timeout: Seconds after which an answer is waited for no longer.
        max_attempts: How often a rollout is tried, earlier runs included.
        backoff: Seconds before the first retry; each further one waits twice as long.
        patience: Seconds that an agent or its model may be out of reach before the collection ends.
        max_answer_mb: MB of the longest answer that is taken.
        seed: What the jitter of retries is drawn from.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    concurrency: int = Field(default=32, ge=1)
    timeout: float = Field(default=1800.0, gt=0)
    max_attempts: int = Field(default=names.MAX_ATTEMPTS, ge=1)
    backoff: float = Field(default=0.5, ge=0)
    patience: float = Field(default=30.0, ge=0)
    max_answer_mb: float = Field(default=64.0, gt=0)
    seed: int = Field(default=0, ge=0)

    @field_validator("timeout", "backoff", "patience", "max_answer_mb", mode="before")
    @classmethod
    def _finite(cls, value: float, about: ValidationInfo) -> float:
        return finite(value, f"--{(about.field_name or '').replace('_', '-')}")

    @property
    def max_answer(self) -> int:
        """Bytes of the longest answer that is taken."""
        return max(1, int(self.max_answer_mb * MEGABYTE))


def finite(value: float, name: str) -> float:
    """A number that is neither NaN nor infinite.

    Raises:
        UsageError: It is.
    """
    if not math.isfinite(value):
        raise UsageError(f"{name} is {value}, which is no number to go by", hint="Give a finite number.")
    return value


def parse_repeats(given: Iterable[str]) -> dict[str, int]:
    """Repeats as they are typed: `N` for every agent, or `AGENT=N`, several of them with commas between.

    Raises:
        UsageError: One of them is neither.
    """
    repeats: dict[str, int] = {}
    for text in (part for one in given for part in one.split(",")):
        name, equals, number = text.rpartition("=")
        name = name.strip() if equals else DEFAULT
        number = number.strip()
        if number.isascii() and number.isdigit() and len(number.lstrip("0")) > len(str(MOST_REPEATS)) - 1:
            hint = f"A row gets fewer than {MOST_REPEATS:,} rollouts; top up what needs more."
            raise UsageError(f"--num-repeats {text[:SHOWN]!r} is more than can be meant", hint=hint)
        if not (name and number.isascii() and number.isdigit() and int(number) > 0):
            raise UsageError(f"--num-repeats {text!r} is no number of repeats", hint="Write N or AGENT=N, from 1 on.")
        if name in repeats:
            raise UsageError(f"--num-repeats says twice how often {name} repeats", hint="Leave one of them out.")
        repeats[name] = int(number)
    return repeats or {DEFAULT: 1}
