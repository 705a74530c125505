"""What the servers are to be: YAML files and options → one checked model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from pipeline.collect.serving.demo_faults import Rate, checked_kind, rate_of
from pipeline.errors import UsageError
from pipeline.sources.yaml_files import unknown_key

DEMO = "demo"
DEFAULT_HOST = "127.0.0.1"
DEFAULT_HEAD_PORT = 11000
LAST_PORT = 65535
LIKE = "Begin with agents: and a name below it."
Port = Annotated[int, Field(ge=0, le=LAST_PORT)]


class _Checked(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class AgentConfig(_Checked):
    """One agent.

    Attributes:
        environment: A shipped one's name, or `module:Class`.
        options: Keyword arguments of the environment.
        port: Its port; 0 for a free one, None for the one the servers' `port` says.
    """

    environment: str
    options: dict[str, Any] = Field(default_factory=dict)
    port: Port | None = None


class ModelConfig(_Checked):
    """The model that every agent asks.

    Attributes:
        name: `demo`, or the name the endpoint knows.
        url: The endpoint.
        api_key_env: The variable that holds its key.
        timeout: Seconds for one answer.
        max_connections: How many questions may be open at once.
        max_response_mb: The longest answer, in MB.
        faults: What the demo gets wrong on purpose: kind → share.
        delay_ms: Milliseconds until the demo answers.
    """

    name: str = Field(default=DEMO, min_length=1)
    url: str | None = None
    api_key_env: str | None = None
    timeout: float = Field(default=600.0, gt=0, allow_inf_nan=False)
    max_connections: int = Field(default=256, ge=1)
    max_response_mb: float = Field(default=8.0, gt=0, allow_inf_nan=False)
    faults: dict[str, Rate] = Field(default_factory=dict)
    delay_ms: float = Field(default=0.0, ge=0, allow_inf_nan=False)

    @field_validator("faults", mode="before")
    @classmethod
    def _rates(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        return {
            checked_kind(str(kind)): rate if isinstance(rate, Rate) else rate_of(rate, kind=str(kind))
            for kind, rate in value.items()
        }

    @model_validator(mode="after")
    def _fit(self) -> ModelConfig:
        if self.name == DEMO and self.url is not None:
            raise UsageError("a model URL needs the model's name", hint="Give it with --model NAME.")
        if self.name != DEMO and self.url is None:
            raise UsageError(f"the model {self.name!r} needs an address", hint="Give it with --model-url URL.")
        if self.name != DEMO and (self.faults or self.delay_ms):
            raise UsageError("only the demo model has faults and delays", hint="Leave them out.")
        return self


class ServersConfig(_Checked):
    """All of it.

    Attributes:
        agents: The agents by their names.
        model: The model.
        host: The address to listen at.
        port: The first agent's port, the others follow; 0 for free ones.
        head_port: The port of the head; 0 for a free one.
        seed: The demo's seed.
    """

    agents: dict[str, AgentConfig]
    model: ModelConfig = Field(default_factory=ModelConfig)
    host: str = DEFAULT_HOST
    port: Port = 0
    head_port: Port = DEFAULT_HEAD_PORT
    seed: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _fit(self) -> ServersConfig:
        if not self.agents:
            raise UsageError("there is no agent", hint="Name an environment, or agents in the configuration.")
        for name in self.agents:
            if not name.strip() or not name.isprintable():
                raise UsageError(f"{name!r} is no name of an agent", hint="Use letters that can be seen.")
        if self.port + len(self.agents) - 1 > LAST_PORT:
            raise UsageError(f"there are no {len(self.agents)} ports from {self.port} on", hint="Give another --port.")
        return self


def merged(contents: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Several mappings as one: those that are mappings in both are merged, of anything else the last one counts."""
    whole: dict[str, Any] = {}
    for content in contents:
        for name, value in content.items():
            before = whole.get(name)
            if isinstance(before, dict) and isinstance(value, Mapping):
                whole[name] = merged((before, value))
            else:
                whole[name] = value
    return whole


def checked(content: Mapping[str, Any], *, where: str) -> ServersConfig:
    """The configuration that a mapping describes.

    Raises:
        UsageError: A key or a value is none that is known.
    """
    try:
        return ServersConfig.model_validate(content)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        unknown = [one for one in found if one["type"] == "extra_forbidden"]
        first = (unknown or found)[0]  # a key that is missing may be the one that is misspelt
        place = ".".join(part if part.isprintable() else repr(part) for part in map(str, first["loc"]))
        if not unknown:
            raise UsageError(f"{place}: {first['msg']}", where=where) from None
        known = _keys_at(first["loc"])
        raise unknown_key(place, known, where=where) from None


def _keys_at(place: tuple[int | str, ...]) -> list[str]:
    """The keys that are known where the last part of a place stands."""
    if len(place) == 1:
        return list(ServersConfig.model_fields)
    return list((ModelConfig if place[0] == "model" else AgentConfig).model_fields)
