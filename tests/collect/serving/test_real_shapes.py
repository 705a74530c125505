"""Rows of a run of NeMo Gym's own servers, with invented text: the same row and response give the same result."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.collect.env_process import Served, served
from tests.collect.fake_upstream import Upstream, upstream

PAIRS = json.loads(Path(__file__).with_name("real_shapes.json").read_text())
ADDED_BY_THE_COLLECTOR = ("_ng_", "agent_ref")
NAME = "mcqa_simple_agent"


@pytest.fixture(scope="module")
def behind() -> Iterator[tuple[Served, Upstream]]:
    args = ["-e", "multiple_choice", "--agent-name", NAME, "--model", "a-model"]
    with upstream() as endpoint, served(*args, "--model-url", endpoint.url, cwd=Path(__file__).parent) as servers:
        yield servers, endpoint


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: str(pair["rollout"]["reward"]))
def test_the_same_result(pair: dict[str, Any], behind: tuple[Served, Upstream]) -> None:
    servers, endpoint = behind
    endpoint.response = pair["rollout"]["response"]
    real = {name: value for name, value in pair["rollout"].items() if not name.startswith(ADDED_BY_THE_COLLECTOR)}
    result = servers.run(pair["input"]).content
    assert list(result) == list(real)
    params, real_params = result.pop("responses_create_params"), real.pop("responses_create_params")
    assert result == real
    assert said(params) == said(real_params)
    assert params == pair["input"]["responses_create_params"]


def said(params: dict[str, Any]) -> Any:
    """What parameters say that is not what they say anyway."""
    anyway = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    kept = {name: value for name, value in params.items() if value is not None and anyway.get(name) != value}
    messages = [{name: message[name] for name in ("role", "content")} for message in params["input"]]
    return {**kept, "input": messages}


def test_the_demos_responses_have_those_fields() -> None:
    (real, *_) = (pair["rollout"] for pair in PAIRS)
    with served("-e", "multiple_choice", cwd=Path(__file__).parent) as servers:
        result = servers.run(PAIRS[0]["input"]).content
    assert set(result["response"]) <= set(real["response"])
    assert set(result["response"]["usage"]) == set(real["response"]["usage"])
    assert types_of(result["response"]["output"][0]) == types_of(
        {name: value for name, value in real["response"]["output"][0].items() if name != "phase"}
    )
    assert types_of(result["response"]["usage"]) == types_of(real["response"]["usage"])


def types_of(value: Any) -> Any:
    """The shape of a value: the types below its names."""
    if isinstance(value, dict):
        return {name: types_of(one) for name, one in value.items()}
    return [types_of(one) for one in value] if isinstance(value, list) else type(value)
