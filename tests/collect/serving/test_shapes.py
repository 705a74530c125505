"""Rows in the shape of NeMo Gym's own servers: from a row and a response they make what those make."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.collect import quiz
from tests.collect.env_process import Served, served
from tests.collect.fake_upstream import Upstream, upstream

CHANCE = random.Random(20261130)
ROW = quiz.planned(quiz.dataset(CHANCE, 1)[0], 0, 0)
RIGHT = ROW["expected_answer"]
WRONG = next(letter for letter in quiz.LETTERS if letter != RIGHT)
PAIRS = [{"input": ROW, "rollout": quiz.rollout(CHANCE, ROW, answer)} for answer in (WRONG, RIGHT)]
ADDED_BY_THE_COLLECTOR = ("_ng_", "agent_ref")


@pytest.fixture(scope="module")
def behind() -> Iterator[tuple[Served, Upstream]]:
    args = ["-e", "multiple_choice", "--agent-name", quiz.AGENT, "--model", quiz.MODEL]
    with upstream() as endpoint, served(*args, "--model-url", endpoint.url, cwd=Path(__file__).parent) as servers:
        yield servers, endpoint


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: str(pair["rollout"]["reward"]))
def test_the_same_result(pair: dict[str, Any], behind: tuple[Served, Upstream]) -> None:
    servers, endpoint = behind
    endpoint.response = pair["rollout"]["response"]
    gym = {name: value for name, value in pair["rollout"].items() if not name.startswith(ADDED_BY_THE_COLLECTOR)}
    result = servers.run(pair["input"]).content
    assert list(result) == list(gym)
    params, gym_params = result.pop("responses_create_params"), gym.pop("responses_create_params")
    assert result == gym
    assert said(params) == said(gym_params)
    assert params == pair["input"]["responses_create_params"]


def said(params: dict[str, Any]) -> Any:
    """What parameters say that is not what they say anyway."""
    anyway = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    kept = {name: value for name, value in params.items() if value is not None and anyway.get(name) != value}
    messages = [{name: message[name] for name in ("role", "content")} for message in params["input"]]
    return {**kept, "input": messages}


def test_the_demos_responses_have_those_fields() -> None:
    (gym, *_) = (pair["rollout"] for pair in PAIRS)
    with served("-e", "multiple_choice", cwd=Path(__file__).parent) as servers:
        result = servers.run(PAIRS[0]["input"]).content
    assert set(result["response"]) <= set(gym["response"])
    assert set(result["response"]["usage"]) == set(gym["response"]["usage"])
    assert types_of(result["response"]["output"][0]) == types_of(
        {name: value for name, value in gym["response"]["output"][0].items() if name != "phase"}
    )
    assert types_of(result["response"]["usage"]) == types_of(gym["response"]["usage"])


def types_of(value: Any) -> Any:
    """The shape of a value: the types below its names."""
    if isinstance(value, dict):
        return {name: types_of(one) for name, one in value.items()}
    return [types_of(one) for one in value] if isinstance(value, list) else type(value)
