"""The demo model with an environment of one's own."""

from typing import Any

import pytest

from pipeline.collect.environments.base import text_of
from pipeline.collect.serving.agent import Agent
from pipeline.collect.serving.faults import RolloutFaultError
from tests.collect.env_process import row
from tests.collect.serving.asking import demo, finished, results

Row = dict[str, Any]


class Plain:
    """Rewards what stands in a field of its own."""

    def verify(self, row: Row, response: Row) -> Row:
        return {"reward": float(f"{{{row['word']}}}" in text_of(response))}


class Told(Plain):
    def __init__(self, given: Any) -> None:
        self.given = given

    def answers(self, _row: Row) -> Any:
        return self.given


ROWS = [row(f"question {number}", word="fox", task=number) | {"expected_answer": None} for number in range(40)]


def told_by(environment: Any) -> tuple[Agent, list[str]]:
    said: list[str] = []
    return Agent("an_agent", "grader:Grader", environment, demo(), tell=said.append), said


@pytest.mark.parametrize("given", [("fox", ["owl"]), {"right": "fox", "wrong": ["owl"]}, "fox"])
def test_answers_in_a_plain_form_are_learnt(given: Any) -> None:
    agent, said = told_by(Told(given))
    assert {one["reward"] for one in finished(agent, ROWS)} == {0.0, 1.0}
    assert said == []


def test_answers_that_cannot_be_used_name_the_method() -> None:
    agent, _ = told_by(Told(["fox"]))
    (fault,) = results(agent, ROWS[:1])
    assert isinstance(fault, RolloutFaultError)
    assert (fault.kind, fault.detail) == ("verifier_error", "NoAnswers")
    assert fault.message.startswith("grader:Grader.answers(row) returned ['fox']; it takes (right, [wrong, ...])")


def test_a_demo_that_can_never_be_right_is_told_once() -> None:
    agent, said = told_by(Plain())
    assert {one["reward"] for one in finished(agent, ROWS)} == {0.0}
    assert len(said) == 1
    assert "grader:Grader has no answers(row), and rows have no expected_answer" in said[0]


def test_an_expected_answer_is_enough() -> None:
    agent, said = told_by(Plain())
    rows = [one | {"expected_answer": "fox"} for one in ROWS]
    assert {one["reward"] for one in finished(agent, rows)} == {0.0, 1.0}
    assert said == []
