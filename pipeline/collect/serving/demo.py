"""The demo model: a seeded policy that needs no key and no network.

Each task has a skill, drawn from the seed and the task's prompt and moved by the row's `difficulty`; a rollout is right
with that probability, and a wrong one tends to be the task's usual slip. What is drawn for a rollout depends on the
seed, the prompt, the task index and the row's own seed or else its rollout index, and on nothing else: not on the
order, the concurrency or a restart.
"""

from __future__ import annotations

import asyncio
from math import exp, log
from typing import NamedTuple

import orjson

from pipeline import names
from pipeline.collect.environments.base import Answers, Row
from pipeline.collect.serving.demo_faults import PASSING, Faults
from pipeline.collect.serving.demo_text import cut, response, spoken, tokens_of, unboxed, usage_of
from pipeline.collect.serving.draws import Draws
from pipeline.collect.serving.faults import timed_out
from pipeline.collect.serving.model import MEGABYTE, Question, Reply
from pipeline.collect.serving.upstream import beside

JSON = "application/json"
NEVER_BELOW, ALWAYS_ABOVE = 0.12, 0.84
EASIER = {"easy": 0.3, "medium": 0.0, "hard": -0.3}
SHORTEST, LONGEST = 24, 240
LONGER_IF_WRONG = 1.3
SPREAD = 0.35
USUAL_SLIPS = 0.6
HUGE_BYTES = 10 * MEGABYTE
NO_ANSWERS = Answers("0", ("1", "2", "3"))


class Said(NamedTuple):
    """One rollout's text and lengths."""

    text: str
    tokens: int
    reasoning: int


class Demo:
    """Answers as a model would.

    Args:
        seed: Another seed makes another model.
        faults: What goes wrong on purpose.
        delay: Seconds until an answer comes.
        timeout: Seconds after which one that hangs is given up.
        max_bytes: The longest answer.
    """

    name = "demo"
    pretends = True

    def __init__(self, *, seed: int, faults: Faults, delay: float, timeout: float, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._seed = seed
        self._faults = faults
        self._delay = delay
        self._timeout = timeout
        self._attempts: dict[tuple[str, ...], int] = {}

    async def reply(self, question: Question) -> Reply:
        """Waits, then answers, or fails as asked.

        Raises:
            RolloutFaultError: The rollout is one that times out.
        """
        if self._delay:
            await asyncio.sleep(self._delay)
        prompt = prompt_of(question.params)
        key = (prompt_digest(prompt), *key_of(question))
        draws = Draws(self._seed, *key)
        fault = self._faults.of(draws, self._attempt(key, question.row))
        if fault in PASSING:
            self._attempts[key] = self._attempts.get(key, 0) + 1
            return await self._failed(fault)
        skill = skill_of(self._seed, key[0], question.row.get("difficulty"))
        answers = with_usual_slip(question.answers or NO_ANSWERS, Draws(self._seed, key[0]), draws)
        said = say(answers, skill, draws)
        content = self._response(said, fault, draws, prompt=prompt, params=question.params)
        return Reply(200, JSON, orjson.dumps(content))

    async def close(self) -> None:
        """Nothing is open."""

    def _attempt(self, key: tuple[str, ...], row: Row) -> int:
        told = row.get(names.ATTEMPT)
        return told if isinstance(told, int) else self._attempts.get(key, 0)

    async def _failed(self, fault: str | None) -> Reply:
        if fault == "hangs":
            await asyncio.sleep(self._timeout)
        if fault in {"hangs", "timeouts"}:
            raise timed_out(self._timeout)
        return {
            "errors": Reply(503, JSON, b'{"error": {"message": "the demo was asked to fail"}}'),
            "rate-limits": Reply(429, JSON, b'{"error": {"message": "the demo was asked to be busy"}}', "0"),
            "malformed": Reply(200, JSON, b'{"id": "resp_'),
            "wrong-type": Reply(200, "text/html", b"<!doctype html><p>A page in the way.</p>"),
        }.get(str(fault)) or Reply(200, JSON, b'{"output": "' + b"x" * min(HUGE_BYTES, self.max_bytes) + b'"}')

    def _response(self, said: Said, fault: str | None, draws: Draws, *, prompt: str, params: Row) -> Row:
        text, tokens, reasoning = said
        most = params.get("max_output_tokens")
        truncated = fault == "truncation" or (isinstance(most, int) and tokens > most)
        if truncated:
            text = cut(text)
            tokens = most if isinstance(most, int) else reasoning + tokens_of(text)
            reasoning = min(reasoning, tokens)
        elif fault == "unboxed":
            text = unboxed(text)
        if fault == "empty":
            text, tokens, reasoning = "", 0, 0
        usage = None if fault == "no-usage" else usage_of(prompt=prompt, tokens=tokens, reasoning=reasoning)
        return response(text, draws=draws, params=params, model=self.name, usage=usage, truncated=truncated)


def prompt_of(params: Row) -> str:
    """What is asked, as text: the instructions and the input."""
    asked = params.get("input")
    text = asked if isinstance(asked, str) else orjson.dumps(asked, default=str).decode()
    return f"{params.get('instructions') or ''}{text}"


def prompt_digest(prompt: str) -> str:
    """A short name for a prompt."""
    return Draws(prompt).hex("prompt")


def key_of(question: Question) -> tuple[str, str]:
    """The task's index, and the seed of the row's own or else the rollout's index."""
    seed = question.params.get(names.SEED, beside(question.params).get(names.SEED))
    index = question.row.get(names.ROLLOUT, 0)
    return str(question.row.get(names.TASK, 0)), f"seed {seed}" if seed is not None else f"rollout {index}"


def skill_of(seed: int, prompt: str, difficulty: object) -> float:
    """The probability that a rollout of a task is right: for some tasks 0, for some 1."""
    drawn = Draws(seed, prompt).share("skill") + EASIER.get(str(difficulty), 0.0) / 2
    return min(max((drawn - NEVER_BELOW) / (ALWAYS_ABOVE - NEVER_BELOW), 0.0), 1.0)


def with_usual_slip(answers: Answers, of_task: Draws, of_rollout: Draws) -> Answers:
    """The answers of one rollout: for most, the only slip is the one that this task invites."""
    wrong = tuple(answers.wrong)
    if not wrong or of_rollout.share("usual") >= USUAL_SLIPS:
        return answers
    return Answers(answers.right, (of_task.choice("slip", wrong),))


def say(answers: Answers, skill: float, draws: Draws) -> Said:
    """One rollout: log-normal lengths, longer where the task is hard and where the answer is wrong."""
    right = draws.share("right") < skill
    answer = answers.right if right or not answers.wrong else draws.choice("slip", tuple(answers.wrong))
    middle = SHORTEST + (LONGEST - SHORTEST) * (1 - skill)
    spread = exp(log(middle) + SPREAD * draws.normal("length"))
    wanted = max(1, round(spread if right else spread * LONGER_IF_WRONG))
    text = spoken(answer, draws, wanted)
    spoken_tokens = tokens_of(text)
    reasoning = max(0, wanted - spoken_tokens)
    return Said(text, spoken_tokens + reasoning, reasoning)
