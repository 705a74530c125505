"""Configurations: several files are one, and a mistake is named with what was meant."""

from pathlib import Path
from typing import Any

import pytest

from pipeline.collect.serving.config import LIKE, checked, merged
from pipeline.collect.serving.demo_faults import Rate, parsed
from pipeline.errors import RollprofError, UsageError
from pipeline.sources.yaml_files import read_yaml

AGENT = {"environment": "numeric_answer"}
AGENTS = {"agents": {"a": AGENT}}


def test_what_is_not_said() -> None:
    config = checked(AGENTS, where="")
    assert (config.host, config.port, config.head_port, config.seed) == ("127.0.0.1", 0, 11000, 0)
    assert (config.model.name, config.model.timeout, config.model.max_connections) == ("demo", 600.0, 256)


def test_all_of_it(tmp_path: Path) -> None:
    path = tmp_path / "env.yaml"
    path.write_text("""
host: 0.0.0.0
port: 8000
head_port: 0
seed: 7
model:
  {name: demo, timeout: 5, max_connections: 3, max_response_mb: 0.5, faults: {errors: 0.1, hangs: "always:1"}}
agents:
  a: {environment: numeric_answer, options: {tolerance: 0.1}, port: 9000}
  b: {environment: "own:Thing"}
""")
    config = checked(read_yaml(path, hint=LIKE), where="env.yaml")
    assert config.model.faults == {"errors": Rate(0.1), "hangs": Rate(1.0, always=True)}
    assert config.agents["a"].options == {"tolerance": 0.1}
    assert config.agents["b"].port is None


def test_the_last_one_counts() -> None:
    first = {"seed": 1, "model": {"name": "x", "url": "http://h"}, "agents": {"a": {"environment": "e"}}}
    second = {"seed": 2, "model": {"name": "y"}, "agents": {"b": {"environment": "f"}}}
    assert merged([first, second]) == {
        "seed": 2,
        "model": {"name": "y", "url": "http://h"},
        "agents": {"a": {"environment": "e"}, "b": {"environment": "f"}},
    }


@pytest.mark.parametrize(
    ("content", "message", "hint"),
    [
        ({"agent": {}, **AGENTS}, "agent is no key", "Did you mean agents?"),
        ({**AGENTS, "model": {"nam": "x"}}, "model.nam is no key", "Did you mean name?"),
        ({**AGENTS, "model": {"key": "secret"}}, "model.key is no key", "api_key_env"),
        ({"agents": {"a": {"enviroment": "x"}}}, "agents.a.enviroment is no key", "Did you mean environment?"),
        ({"agents": {"a": {}}}, "agents.a.environment: Field required", ""),
        ({"agents": {"a": "numeric_answer"}}, "agents.a: ", ""),
        ({"agents": {}}, "no agent", "environment"),
        ({}, "agents: Field required", ""),
        ({**AGENTS, "port": 70000}, "port: ", ""),
        ({"port": 65535, "agents": {"a": AGENT, "b": AGENT}}, "no 2 ports from 65535 on", "--port"),
        ({**AGENTS, "port": "many"}, "port: ", ""),
        ({**AGENTS, "model": {"timeout": 0}}, "model.timeout: ", ""),
        ({**AGENTS, "model": {"timeout": float("nan")}}, "model.timeout: ", ""),
        ({**AGENTS, "model": {"faults": {"error": 1}}}, "no fault 'error'", "Did you mean errors?"),
        ({**AGENTS, "model": {"faults": {"errors": 2}}}, "the rate of errors is '2'", "errors=0.02"),
        ({**AGENTS, "model": {"faults": [1]}}, "model.faults: ", ""),
        ({**AGENTS, "model": {"url": "http://h"}}, "needs the model's name", "--model"),
        ({**AGENTS, "model": {"name": "x"}}, "needs an address", "--model-url"),
        ({**AGENTS, "model": {"name": "x", "url": "http://h", "delay_ms": 1}}, "only the demo", ""),
    ],
)
def test_refused(content: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(UsageError) as refused:
        checked(content, where="env.yaml")
    assert message in refused.value.message
    assert hint in refused.value.hint
    assert "secret" not in str(refused.value)


def test_faults() -> None:
    assert parsed("errors=0.02, timeouts=always:0.5,") == {"errors": Rate(0.02), "timeouts": Rate(0.5, always=True)}
    assert parsed("") == {}


@pytest.mark.parametrize("text", ["errors", "errors=", "errors=x", "errors=-1", "errors=nan", "=1", "error=1"])
def test_no_faults(text: str) -> None:
    with pytest.raises(RollprofError):
        parsed(text)
