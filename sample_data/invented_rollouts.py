"""The rows of the invented runs: what was planned, and what came of it."""

from __future__ import annotations

import heapq
import json
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from invented_tasks import BANK, Draws, Problem, Row

if TYPE_CHECKING:
    from collections.abc import Iterable

Key = tuple[int, int]

EPOCH = 1_767_225_600
WORKERS = 16
TOKENS_PER_SECOND = 48
MAX_OUTPUT_TOKENS = 2048
TYPICAL_TOKENS = {"easy": 180, "medium": 420, "hard": 860}
LENGTH_OF_WRONG = 1.4
SHARE_TRUNCATED_OF_WRONG = 0.12
SHARE_MISFORMED_AT_NO_SKILL = 0.1
SHARE_OF_USUAL_SLIP = 0.6
SHARE_REASONING_SHOWN = 0.3

CALCULATOR: Row = {
    "type": "function",
    "name": "calculator",
    "description": "Evaluate one arithmetic expression.",
    "parameters": {
        "type": "object",
        "properties": {"expression": {"type": "string"}},
        "required": ["expression"],
    },
    "strict": True,
}
SYSTEM = {
    "math_agent": "Solve the problem. You may call the calculator. End with a line of the form Answer: N.",
    "choice_agent": "Pick the one right option. End with a line of the form Answer: LETTER.",
}


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """How one rollout goes, before it is put into words."""

    correct: bool
    format_ok: bool
    truncated: bool
    reasons: bool
    calls: int
    answer: str
    tokens: int


def dumps(value: object) -> str:
    """Write a value as the collector does: no spaces, UTF-8 as it is."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def inputs_row(problem: Problem, key: Key) -> Row:
    """Make the line of one planned rollout."""
    return {
        "responses_create_params": create_params(problem),
        **({"options": problem.options} if problem.options else {}),
        "expected_answer": problem.answer,
        "domain": problem.domain,
        "difficulty": problem.difficulty,
        **task_identity(problem, key),
        **rollout_identity(problem, key),
    }


def rollout(problem: Problem, key: Key, draws: Draws) -> Row:
    """Make one finished rollout: it is rewarded if the answer is right and in the form asked for."""
    attempt = draw_attempt(problem, draws)
    latency = attempt.tokens / TOKENS_PER_SECOND + 0.4 * attempt.calls + draws.expovariate(1.0)
    return {
        "responses_create_params": create_params(problem),
        "response": response(problem, attempt, draws),
        "reward": float(attempt.correct and attempt.format_ok),
        "correct": attempt.correct,
        "extracted_answer": None if attempt.truncated else attempt.answer,
        "expected_answer": problem.answer,
        "format_ok": attempt.format_ok,
        "num_turns": attempt.calls + 1,
        "latency_s": round(latency, 3),
        "reward_components": {
            "answer": float(attempt.correct),
            "format": float(attempt.format_ok),
            "brevity": round(1 - attempt.tokens / MAX_OUTPUT_TOKENS, 3),
        },
        **task_identity(problem, key),
        **rollout_identity(problem, key),
    }


def in_finishing_order(rollouts: Iterable[Row]) -> list[Row]:
    """Run the rollouts through the workers, stamp the start of each, and order them by their ends."""
    free = [0.0] * WORKERS
    ended = []
    for row in rollouts:
        start = heapq.heappop(free)
        end = start + row["latency_s"]
        heapq.heappush(free, end)
        row["response"]["created_at"] = float(EPOCH + int(start))
        ended.append((end, row))
    return [row for _, row in sorted(ended, key=operator.itemgetter(0))]


def create_params(problem: Problem) -> Row:
    """Make the request; only math may call the calculator."""
    return {
        "input": [
            {"role": "system", "content": SYSTEM[problem.agent]},
            {"role": "user", "content": problem.question},
        ],
        "tools": [CALCULATOR] if problem.expressions else [],
        "temperature": 1.0,
        "max_output_tokens": MAX_OUTPUT_TOKENS,
    }


def task_identity(problem: Problem, key: Key) -> Row:
    """Name the task as a data set does."""
    return {"task_id": f"{problem.domain}-{key[0]:03d}", "uuid": problem.uid}


def rollout_identity(problem: Problem, key: Key) -> Row:
    """Name the rollout as the collector does."""
    return {
        "agent_ref": {"type": "responses_api_agents", "name": problem.agent},
        "_ng_task_index": key[0],
        "_ng_rollout_index": key[1],
    }


def draw_attempt(problem: Problem, draws: Draws) -> Attempt:
    """Decide how a rollout goes; a wrong one tends to be longer, and may call for one step less."""
    correct = draws.random() < problem.skill
    truncated = not correct and draws.random() < SHARE_TRUNCATED_OF_WRONG
    misformed = draws.random() < (1 - problem.skill) * SHARE_MISFORMED_AT_NO_SKILL
    usual = draws.random() < SHARE_OF_USUAL_SLIP
    slip = problem.wrong[0] if usual else draws.choice(problem.wrong)
    spread = draws.lognormvariate(0.0, 0.25) * (1.0 if correct else LENGTH_OF_WRONG)
    tokens = min(round(TYPICAL_TOKENS[problem.difficulty] * spread), MAX_OUTPUT_TOKENS - 1)
    return Attempt(
        correct=correct,
        format_ok=not (truncated or misformed),
        truncated=truncated,
        reasons=problem.difficulty == "hard" or draws.random() < SHARE_REASONING_SHOWN,
        calls=draws.randint(0, max(len(problem.expressions) - (not correct), 0)),
        answer=problem.answer if correct else slip,
        tokens=MAX_OUTPUT_TOKENS if truncated else tokens,
    )


def response(problem: Problem, attempt: Attempt, draws: Draws) -> Row:
    """Make a response object; its time is stamped when the order of the run is known."""
    return {
        "id": f"resp_{draws.hex(16)}",
        "created_at": float(EPOCH),
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if attempt.truncated else None,
        "metadata": {},
        "model": "demo-model-8b",
        "object": "response",
        "output": output_items(problem, attempt, draws),
        "parallel_tool_calls": False,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "status": "incomplete" if attempt.truncated else "completed",
        "usage": usage(problem, attempt),
    }


def output_items(problem: Problem, attempt: Attempt, draws: Draws) -> list[Row]:
    """Make the output: perhaps a reasoning item, the calls with their results, one message."""
    items = [reasoning(draws)] if attempt.reasons else []
    for expression, value in problem.expressions[: attempt.calls]:
        items += call_and_result(expression, value, draws)
    items.append(message(problem, attempt, draws))
    return items


def reasoning(draws: Draws) -> Row:
    """Make a reasoning item of which only a summary is shown."""
    summary = " ".join(draws.sample(BANK["checks"], k=2))
    return {
        "id": f"rs_{draws.hex(12)}",
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": summary}],
        "encrypted_content": None,
    }


def call_and_result(expression: str, value: str, draws: Draws) -> list[Row]:
    """Make a call of the calculator and what it gave."""
    call_id = f"call_{draws.hex(12)}"
    call = {
        "id": f"fc_{draws.hex(12)}",
        "type": "function_call",
        "name": "calculator",
        "call_id": call_id,
        "arguments": dumps({"expression": expression}),
        "status": "completed",
    }
    return [call, {"type": "function_call_output", "call_id": call_id, "output": value}]


def message(problem: Problem, attempt: Attempt, draws: Draws) -> Row:
    """Make the closing message; the more tokens were spent, the more it goes over its steps again."""
    steps = problem.steps if attempt.correct else problem.steps[:-1]
    checks = draws.choices(BANK["checks"], k=attempt.tokens // 300)
    form = "That settles it.\nAnswer: {}" if attempt.format_ok else "I would say {}."
    ending = "So what is left to" if attempt.truncated else form.format(attempt.answer)
    text = " ".join([*steps, *checks, ending])
    return {
        "id": f"msg_{draws.hex(12)}",
        "type": "message",
        "role": "assistant",
        "status": "incomplete" if attempt.truncated else "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    }


def usage(problem: Problem, attempt: Attempt) -> Row:
    """Count the tokens; every turn reads the prompt and the turns before it again."""
    prompt = 40 + len(problem.question) // 4 + (60 if problem.expressions else 0)
    read = sum(prompt + turn * 45 for turn in range(attempt.calls + 1))
    return {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": (read - prompt) // 16 * 16},
        "output_tokens": attempt.tokens,
        "output_tokens_details": {"reasoning_tokens": attempt.tokens * 3 // 5 if attempt.reasons else 0},
        "total_tokens": read + attempt.tokens,
    }
