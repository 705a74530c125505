"""A quiz of multiple choice in the shape that NeMo Gym 0.7 gives its files.

Field names, their order, nesting and types are those of its servers and its collector; every word and every number is
made up here, from a seed.
"""

import random
import uuid
from collections.abc import Sequence
from typing import Any

Row = dict[str, Any]

AGENT, SERVER, MODEL = "quiz_agent", "quiz_environment_server", "a-model"
KEY = ("_ng_task_index", "_ng_rollout_index")
LETTERS = "ABCDEFGHIJ"
THINGS = ("ant", "bee", "crow", "dove", "eel", "fox", "goose", "hare", "ibis", "jackal", "kite", "lynx")
PARAMS_BEFORE = ("background", "include")
PARAMS_AFTER_INPUT = ("instructions", "max_output_tokens", "max_tool_calls", "metadata", "model")
PARAMS_AFTER_CALLS = (
    *("previous_response_id", "prompt", "reasoning", "service_tier", "store", "context_management", "conversation"),
    *("moderation", "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "stream_options"),
    *("temperature", "text"),
)
PARAMS_AT_THE_END = ("top_logprobs", "top_p", "truncation", "user", "stream")
RESPONSE_AFTER_TOP_P = (
    *("background", "completed_at", "conversation", "max_output_tokens", "max_tool_calls", "moderation"),
    *("previous_response_id", "prompt", "prompt_cache_key", "prompt_cache_retention", "reasoning"),
    *("safety_identifier", "service_tier"),
)


def nulls(names: Sequence[str]) -> Row:
    return dict.fromkeys(names)


def dataset(chance: random.Random, rows: int) -> list[Row]:
    """Rows as a dataset has them: a question, its options and the letter that is right."""
    return [_question(chance, number) for number in range(rows)]


def _question(chance: random.Random, number: int) -> Row:
    things = chance.sample(THINGS, len(LETTERS))
    options = [{letter: thing} for letter, thing in zip(LETTERS, things, strict=True)]
    listed = "\n".join(f"{letter}: {thing}" for letter, thing in zip(LETTERS, things, strict=True))
    asked = f"Riddle {number}. Put one letter into \\boxed{{}}. Which of them sings?\n{listed}"
    return {
        "responses_create_params": {"input": [{"role": "user", "content": asked}]},
        "options": options,
        "expected_answer": chance.choice(LETTERS),
        "grading_mode": "strict_single_letter_boxed",
        "uuid": str(uuid.UUID(int=chance.getrandbits(128), version=4)),
        "agent_ref": {"name": AGENT},
    }


def planned(row: Row, task: int, rollout: int) -> Row:
    """The row as materialized inputs have it."""
    return row | dict(zip(KEY, (task, rollout), strict=True))


def rollout(chance: random.Random, row: Row, answer: str) -> Row:
    """The rollout of a planned row whose model says a letter, as the collector writes it."""
    return {
        "responses_create_params": _params(row),
        "response": _response(chance, f"It can only be \\boxed{{{answer}}}"),
        "reward": float(answer == row["expected_answer"]),
        "mask_sample": False,
        "failure_kind": None,
        "failure_reason": None,
        "expected_answer": row["expected_answer"],
        "extracted_answer": answer,
        **{name: row[name] for name in KEY},
        "agent_ref": row["agent_ref"],
        "_ng_environment_server": SERVER,
        "_ng_result_type": "legacy_agent",
    }


def _params(row: Row) -> Row:
    (message,) = row["responses_create_params"]["input"]
    told = {"content": message["content"], "role": message["role"], "type": "message", "phase": None}
    return {
        **nulls(PARAMS_BEFORE),
        "input": [told],
        **nulls(PARAMS_AFTER_INPUT),
        "parallel_tool_calls": True,
        **nulls(PARAMS_AFTER_CALLS),
        "tool_choice": "auto",
        "tools": [],
        **nulls(PARAMS_AT_THE_END),
    }


def _response(chance: random.Random, said: str) -> Row:
    part: Row = {"annotations": [], "text": said, "type": "output_text", "logprobs": None}
    message = {"id": f"msg_{chance.getrandbits(48):x}", "content": [part], "role": "assistant", "status": "completed"}
    return {
        "id": f"resp_{chance.getrandbits(48):x}",
        "created_at": float(chance.randrange(10**9, 15 * 10**8)),
        **nulls(("error", "incomplete_details", "instructions")),
        "metadata": {},
        "model": MODEL,
        "object": "response",
        "output": [message | {"type": "message", "phase": None}],
        "parallel_tool_calls": False,
        "temperature": 0.5,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 0.875,
        **nulls(RESPONSE_AFTER_TOP_P),
        "status": "completed",
        **nulls(("text", "top_logprobs", "truncation")),
        "usage": _usage(chance),
        "user": None,
    }


def _usage(chance: random.Random) -> Row:
    asked, said = chance.randrange(500, 900), chance.randrange(60, 120)
    return {
        "input_tokens": asked,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": said,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": asked + said,
    }
