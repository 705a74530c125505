"""The rows of each kind of dump: endless pairs of an input row and its rollout."""

from __future__ import annotations

from itertools import count
from random import Random
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import orjson

from tests.bench.pools import Material, material

if TYPE_CHECKING:
    from collections.abc import Iterator

Kind = Literal["text", "tok", "small", "many"]
KINDS: tuple[Kind, ...] = get_args(Kind)
REPEATS = 8
_AGENTS = ("math_agent", "code_agent", "swe_agent")

Row = dict[str, Any]
Pair = tuple[Row, Row]


class _Shape(NamedTuple):
    """Lengths in characters and tokens, each range half open."""

    system: int
    user: int
    turns: range
    reasoning: range
    answer: range
    prompt_tokens: range | None = None
    generated_tokens: range | None = None


_SHAPES: dict[Kind, _Shape] = {
    "text": _Shape(1500, 2500, range(2, 6), range(500, 6000), range(800, 801)),
    "tok": _Shape(1500, 6000, range(2, 6), range(300, 1500), range(800, 801), range(400, 1500), range(200, 900)),
    "small": _Shape(0, 300, range(1), range(1), range(200, 500)),
}


def pairs(kind: Kind, *, seed: int) -> Iterator[Pair]:
    """(input row, rollout) of task 0 repeat 0, task 0 repeat 1, ..., the same ones for the same seed."""
    rng = Random(f"{kind} {seed}")
    return _numbers_only(rng) if kind == "many" else _full(_SHAPES[kind], rng=rng)


def _full(shape: _Shape, *, rng: Random) -> Iterator[Pair]:
    stock = material(rng)
    tools = _tools(stock, rng=rng) if shape.system else None
    for task in count():
        params = _params(shape, tools, stock, rng=rng)
        agent = {"type": "responses_api_agents", "name": _AGENTS[task % len(_AGENTS)]}
        for repeat in range(REPEATS):
            indices = {"_ng_task_index": task, "_ng_rollout_index": repeat}
            planned = {**indices, "agent_ref": agent, "responses_create_params": params}
            planned["difficulty"] = rng.random()
            rollout = {
                "responses_create_params": params,
                "response": _response(task * REPEATS + repeat, _output(shape, stock, rng=rng), rng=rng),
                **_verdict(stock, rng=rng),
                "agent_ref": agent,
                **indices,
            }
            yield planned, rollout


def _tools(stock: Material, *, rng: Random) -> orjson.Fragment:
    def tool(number: int) -> Row:
        properties = {
            "a": {"type": "string", "description": stock.text.cut(40, rng=rng)},
            "b": {"type": "integer"},
        }
        return {
            "type": "function",
            "name": f"tool_{number}",
            "description": stock.text.cut(200, rng=rng),
            "parameters": {"type": "object", "properties": properties, "required": ["a"]},
            "strict": True,
        }

    return orjson.Fragment(orjson.dumps([tool(number) for number in range(3)]))


def _params(shape: _Shape, tools: orjson.Fragment | None, stock: Material, *, rng: Random) -> orjson.Fragment:
    user = {"role": "user", "content": stock.text.cut(shape.user, rng=rng)}
    if tools is None:
        return orjson.Fragment(orjson.dumps({"input": [user]}))
    system = {"role": "system", "content": stock.text.cut(shape.system, rng=rng)}
    params = {"input": [system, user], "tools": tools, "temperature": 1.0, "max_output_tokens": None}
    return orjson.Fragment(orjson.dumps(params))


def _output(shape: _Shape, stock: Material, *, rng: Random) -> list[Row]:
    turns = rng.choice(shape.turns)
    items = [item for turn in range(turns) for item in _turn(turn, shape, stock, rng=rng)]
    content: Row = {
        "type": "output_text",
        "text": stock.text.cut(rng.choice(shape.answer), rng=rng),
        "annotations": [],
    }
    if turns:
        content["usage"] = {"fake": 1}
    message: Row = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [content],
    }
    return [*items, message]


def _turn(number: int, shape: _Shape, stock: Material, *, rng: Random) -> tuple[Row, Row, Row]:
    length = rng.choice(shape.reasoning)
    summary = [{"type": "summary_text", "text": stock.text.cut(length, rng=rng)}]
    call: Row = {
        "id": f"fc_{number}",
        "type": "function_call",
        "name": "tool_1",
        "call_id": f"call_{rng.randrange(10**9)}",
    }
    call |= {"arguments": rng.choice(stock.arguments), "status": "completed"}
    if shape.prompt_tokens and shape.generated_tokens:
        generated = rng.choice(shape.generated_tokens)
        call["prompt_token_ids"] = stock.token_ids.cut(rng.choice(shape.prompt_tokens), rng=rng)
        call["generation_token_ids"] = stock.token_ids.cut(generated, rng=rng)
        call["generation_log_probs"] = stock.log_probs.cut(generated, rng=rng)
    return (
        {"id": f"rs_{number}", "type": "reasoning", "summary": summary, "encrypted_content": None},
        call,
        {"type": "function_call_output", "call_id": "call_x", "output": stock.text.cut(length // 2, rng=rng)},
    )


def _response(number: int, output: list[Row], *, rng: Random) -> Row:
    usage = _usage(rng)
    usage["input_tokens_details"] = {"cached_tokens": usage["input_tokens"] // 2}
    usage["output_tokens_details"] = {"reasoning_tokens": usage["output_tokens"] // 3}
    return {
        "id": f"resp_{number:08x}",
        "created_at": 1.7e9 + number,
        "object": "response",
        "model": "m",
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "temperature": 1.0,
        "metadata": {"usage": {"zz": 1}},
        "usage": usage,
        "user": None,
        "store": True,
    }


def _usage(rng: Random) -> Row:
    read, written = rng.randrange(500, 30_000), rng.randrange(10, 5_000)
    return {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}


def _verdict(stock: Material, *, rng: Random) -> Row:
    """The verifier's fields, with the mixed types that real verifiers write."""
    mixed = rng.random() < 0.1
    return {
        "reward": rng.choice((0.0, 1.0, 0.5, 1, 0, None)) if mixed else rng.random(),
        "passed": rng.random() < 0.5,
        "num_turns": rng.randrange(1, 20),
        "accuracy": rng.choice((1, 0, 0.5, None, "n/a", True)),
        "latency_s": rng.random() * 100,
        "expected_answer": stock.text.cut(60, rng=rng),
        "extracted": None,
        "verifier_metadata": {"score": rng.random(), "reward": 3, "tests": [{"passed": True, "t": 0.1}] * 3},
    }


def _numbers_only(rng: Random) -> Iterator[Pair]:
    """Twelve numbers a rollout and next to nothing else."""
    params = {"input": "6 * 7"}
    for task in count():
        agent = {"name": _AGENTS[task % len(_AGENTS)]}
        for repeat in range(REPEATS):
            indices = {"_ng_task_index": task, "_ng_rollout_index": repeat}
            planned = {**indices, "agent_ref": agent, "responses_create_params": params}
            scores = {f"score_{name}": rng.randrange(10_000) / 10_000 for name in "abcde"}
            rollout = {
                "response": {"usage": _usage(rng)},
                "reward": rng.randrange(10_000) / 10_000,
                "passed": rng.randrange(2),
                "num_turns": rng.randrange(1, 20),
                "latency_s": rng.randrange(100_000) / 1_000,
                **scores,
                "agent_ref": agent,
                **indices,
            }
            yield planned, rollout
