"""An agent: a materialized row → the model's response → the environment's verdict → the row's result."""

from __future__ import annotations

import asyncio
import inspect
import traceback
from collections.abc import Callable, Mapping
from math import isfinite
from numbers import Real
from pathlib import Path
from typing import Any

import orjson

from pipeline import names
from pipeline.collect.environments.base import NO_IDEA, Answers, Environment, Row, RowError, answers_in
from pipeline.collect.serving.faults import RolloutFaultError, bad_request, verifier_failed
from pipeline.collect.serving.model import Model, Question, response_of, shortened
from pipeline.collect.serving.threads import Threads

UNMASKED = {names.MASK: False, "failure_kind": None, "failure_reason": None}
"""What NeMo Gym's servers say of every rollout that counts; an environment may say otherwise."""
CANNOT_BE_RIGHT = (
    "the demo model cannot know what is right: the environment {} has no answers(row), and rows have no expected_answer"
)


class Agent:
    """One turn with the model, and a verdict.

    Args:
        name: Its name in the head's mapping and in `agent_ref`.
        environment_name: What the environment is called.
        environment: What judges.
        model: What is asked.
        tell: Called with a sentence for people.
    """

    def __init__(
        self,
        name: str,
        environment_name: str,
        environment: Environment,
        model: Model,
        *,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.name = name
        self.environment_name = environment_name
        self._environment = environment
        self._model = model
        self._tell = tell
        self._told = False
        self._threads = Threads()

    async def run(self, row: Row) -> bytes:
        """The row's result as JSON: `responses_create_params`, `response`, `reward` and the verifier's fields.

        Raises:
            RolloutFaultError: There is none.
        """
        params = params_of(row)
        await self.seed_session(row)
        question = Question(params, row, await self._answers(row) if self._model.pretends else None)
        reply = await self._model.reply(question)
        response = response_of(reply, max_bytes=self._model.max_bytes)
        return await self.verdict(row, response)

    async def respond(self, params: Row) -> bytes:
        """The model's response to parameters alone, as JSON.

        Raises:
            RolloutFaultError: There is none.
        """
        reply = await self._model.reply(Question(params, {}))
        return encoded(response_of(reply, max_bytes=self._model.max_bytes))

    async def seed_session(self, row: Row) -> None:
        """Tells the environment of a row before the model is asked, if it wants to know.

        Raises:
            RolloutFaultError: The environment raised.
        """
        seed = getattr(self._environment, "seed_session", None)
        if seed is not None:
            await self._asked(seed, row)

    async def verdict(self, row: Row, response: Row) -> bytes:
        """The result of a row and a response, as JSON.

        Raises:
            RolloutFaultError: The environment raised, or gave no verdict.
        """
        verdict = await self._asked(self._environment.verify, row, response)
        if not isinstance(verdict, Mapping):
            raise verifier_failed("NoVerdict", f"{self.environment_name} returned {type(verdict).__name__}, no dict")
        reward = verdict.get(names.REWARD)
        if not isinstance(reward, Real) or not _finite(reward):
            raise verifier_failed("NoReward", f"{self.environment_name} gave no finite number as reward")
        judged = {**UNMASKED, **verdict}
        result = {names.PARAMS: row.get(names.PARAMS), names.RESPONSE: response, names.REWARD: float(reward)}
        return encoded({**result, **{name: judged[name] for name in judged if name not in result}})

    async def _asked(self, method: Any, *given: Row) -> Any:
        """What a method of the environment returns; whatever it raises, to end us too, is a fault of this rollout."""
        try:
            return await _returned(method, given, self._threads)
        except GeneratorExit:
            raise
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and _ends_us():
                raise
            fault = _fault_of(error)
            raise fault from fault.__cause__

    @property
    def at_work(self) -> bool:
        """Whether the environment is still at work on something."""
        return self._threads.at_work > 0

    async def _answers(self, row: Row) -> Answers | None:
        answers = getattr(self._environment, "answers", None)
        if answers is not None:
            given = await self._asked(answers, row)
            try:
                return answers_in(given)
            except ValueError as error:
                raise verifier_failed("NoAnswers", f"{self.environment_name}.answers(row) {error}") from None
        expected = row.get("expected_answer")
        if isinstance(expected, str | int | float):
            return Answers(str(expected), NO_IDEA)
        if not self._told:
            self._told = True
            self._tell(CANNOT_BE_RIGHT.format(self.environment_name))
        return None


def _finite(number: Real) -> bool:
    try:
        return isfinite(number)
    except OverflowError:
        return False


def params_of(row: Row) -> Row:
    """The row's `responses_create_params`.

    Raises:
        RolloutFaultError: They are not there, or ask nothing.
    """
    params = row.get(names.PARAMS)
    if not isinstance(params, dict) or not isinstance(params.get("input"), str | list):
        raise bad_request("RowError", f"the row has no {names.PARAMS} with an input")
    return params


def encoded(content: Any) -> bytes:
    """The JSON of a result.

    Raises:
        RolloutFaultError: The environment returned what JSON cannot hold.
    """
    try:
        return orjson.dumps(content, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY)
    except TypeError as error:
        raise verifier_failed("TypeError", f"the result cannot be written as JSON: {error}") from None


async def _returned(method: Any, given: tuple[Row, ...], threads: Threads) -> Any:
    """What a method of an environment returns: a coroutine in this thread, any other in one of its own."""
    if inspect.iscoroutinefunction(method):
        return await method(*given)
    outcome = await threads.outcome(lambda: method(*given))
    if outcome.error is not None:
        raise _fault_of(outcome.error)
    return await outcome.value if inspect.isawaitable(outcome.value) else outcome.value


def _fault_of(error: BaseException) -> RolloutFaultError:
    """What an environment raised, as a fault of one rollout."""
    if isinstance(error, RolloutFaultError):
        return error
    if isinstance(error, RowError):
        return bad_request("RowError", str(error))
    fault = verifier_failed(type(error).__name__, shortened(f"the environment raised {error!r}{_place_of(error)}"))
    fault.__cause__ = error
    return fault


def _ends_us() -> bool:
    """Whether this rollout is being given up, so that what was raised is not the environment's."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _place_of(error: BaseException) -> str:
    """Where it was raised: the file and the line that whoever writes an environment looks for."""
    frames = traceback.extract_tb(error.__traceback__)
    return f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if len(frames) > 1 else ""
