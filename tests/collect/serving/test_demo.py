"""The demo model: the same draws whatever the order, skills between never and always, and faults as asked."""

import asyncio
import random
from collections import Counter
from itertools import product
from statistics import mean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.collect.serving.demo import skill_of
from pipeline.collect.serving.draws import Draws
from pipeline.collect.serving.faults import RolloutFaultError
from tests.collect.env_process import row
from tests.collect.serving.asking import agent, demo, finished, results

TASKS, REPEATS = 40, 8
ROWS = [row(f"Task {task}?", task=task, rollout=index) for task, index in product(range(TASKS), range(REPEATS))]


def key(one: dict[str, Any]) -> tuple[int, int]:
    return one["_ng_task_index"], one["_ng_rollout_index"]


def test_order_concurrency_and_restarts_change_nothing() -> None:
    first = results(agent(demo()), ROWS)
    shuffled = random.Random(1).sample(ROWS, len(ROWS))
    again = results(agent(demo()), shuffled, together=True)
    assert dict(zip(map(key, shuffled), again, strict=True)) == dict(zip(map(key, ROWS), first, strict=True))


def test_another_seed_is_another_model() -> None:
    assert finished(agent(demo(seed=1)), ROWS) != finished(agent(demo(seed=2)), ROWS)


def test_the_rows_own_seed_counts_before_its_rollout_index() -> None:
    def seeded(seed: int, rollout: int) -> dict[str, Any]:
        made = row("Task?", rollout=rollout)
        made["responses_create_params"]["metadata"] = {"extra_body": f'{{"seed": {seed}}}'}
        return made

    texts = [
        found["response"]["id"]
        for found in finished(agent(demo()), [seeded(5, 0), seeded(5, 1), seeded(6, 0), row("Task?")])
    ]
    assert texts[0] == texts[1]
    assert len(set(texts)) == 3


def test_tasks_differ_from_never_to_always() -> None:
    found = finished(agent(demo()), ROWS)
    rewards = [mean(one["reward"] for one in found[task * REPEATS :][:REPEATS]) for task in range(TASKS)]
    assert {0.0, 1.0} < set(rewards)
    assert len(set(rewards)) > 4
    assert 0.3 < mean(rewards) < 0.7


def test_rewards_agree_with_skills() -> None:
    # 400 rollouts a task: the standard error is at most 0.025.
    for difficulty in ("easy", "medium", "hard"):
        rows = [row("A question?", rollout=index, difficulty=difficulty) for index in range(400)]
        skill = skill_of(0, Draws('[{"role":"user","content":"A question?"}]').hex("prompt"), difficulty)
        assert mean(one["reward"] for one in finished(agent(demo()), rows)) == pytest.approx(skill, abs=0.1)


def test_easy_tasks_are_easier() -> None:
    levels = {level: mean(skill_of(0, str(task), level) for task in range(300)) for level in ("easy", "medium", "hard")}
    assert levels["easy"] > levels["medium"] + 0.1 > levels["hard"] + 0.2


def test_usage_adds_up_and_wrong_answers_are_longer() -> None:
    lengths: dict[float, list[int]] = {0.0: [], 1.0: []}
    for one in finished(agent(demo()), ROWS):
        usage = one["response"]["usage"]
        assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
        assert 0 <= usage["output_tokens_details"]["reasoning_tokens"] < usage["output_tokens"]
        lengths[one["reward"]].append(usage["output_tokens"])
    assert mean(lengths[0.0]) > mean(lengths[1.0])


def test_wrong_answers_are_plausible() -> None:
    for one in finished(agent(demo()), ROWS):
        assert one["extracted_answer"] is not None
        assert (one["reward"] == 1.0) == (one["extracted_answer"] == "42")


def test_wrong_answers_are_often_the_same() -> None:
    rows = [row("Task?", rollout=index, difficulty="hard") for index in range(500)]
    wrong = Counter(one["extracted_answer"] for one in finished(agent(demo()), rows) if not one["reward"])
    # Six in ten are the usual slip, and of the others one in five.
    assert wrong.total() > 100
    assert wrong.most_common(1)[0][1] / wrong.total() == pytest.approx(0.6 + 0.4 / 5, abs=0.12)
    assert len(wrong) > 2


def test_an_answer_without_its_box() -> None:
    boxed, bare = (finished(agent(demo(faults=faults)), ROWS) for faults in ("", "unboxed=1"))
    assert [one["reward"] for one in bare] == [one["reward"] for one in boxed]
    assert all(one["boxed"] for one in boxed)
    assert not any(one["boxed"] for one in bare)
    assert all("{" not in one["response"]["output"][0]["content"][0]["text"] for one in bare)


def test_a_row_without_an_answer_it_could_know() -> None:
    content = asyncio.run(agent(demo()).respond({"input": "What is 2 + 2?"}))
    assert b"boxed" in content


def test_no_tokens_left() -> None:
    made = row("A long one?")
    made["responses_create_params"]["max_output_tokens"] = 3
    (one,) = finished(agent(demo()), [made])
    response = one["response"]
    assert (response["status"], response["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    assert response["usage"]["output_tokens"] == 3
    assert (one["reward"], one["extracted_answer"]) == (0.0, None)


@pytest.mark.parametrize(
    ("kind", "status", "kind_of_failure", "detail"),
    [
        ("errors", 503, "http_error", "HTTP 503"),
        ("rate-limits", 429, "http_error", "HTTP 429"),
        ("timeouts", 504, "timeout_exceeded", "TimeoutError"),
        ("malformed", 502, "malformed_response", "JSONDecodeError"),
        ("wrong-type", 502, "malformed_response", "ContentTypeError"),
        ("huge", 502, "malformed_response", "ResponseTooLarge"),
    ],
)
def test_a_fault_passes(kind: str, status: int, kind_of_failure: str, detail: str) -> None:
    asked = agent(demo(faults=f"{kind}=1"))
    first, second = results(asked, [row("Task?"), row("Task?")])
    assert isinstance(first, RolloutFaultError)
    assert (first.status, first.kind, first.detail) == (status, kind_of_failure, detail)
    assert second == finished(agent(demo()), [row("Task?")])[0]


def test_a_fault_that_stays() -> None:
    asked = agent(demo(faults="errors=always:1"))
    assert all(isinstance(one, RolloutFaultError) for one in results(asked, [row("Task?")] * 3))


def test_the_attempt_in_the_row_counts() -> None:
    rows = [row("Task?", _ng_attempt_index=attempt) for attempt in (0, 1, 0)]
    failed = [isinstance(one, RolloutFaultError) for one in results(agent(demo(faults="errors=1")), rows)]
    assert failed == [True, False, True]


def test_one_that_hangs_is_given_up() -> None:
    (one,) = results(agent(demo(faults="hangs=1", timeout=0.05)), [row("Task?")])
    assert isinstance(one, RolloutFaultError)
    assert (one.status, one.message) == (504, "the model gave no answer in 0.05 s")


def test_what_lasts_is_there_at_every_attempt() -> None:
    faults = "no-usage=0.5,truncation=0.3,empty=0.2"
    first = finished(agent(demo(faults=faults)), ROWS)
    assert first == finished(agent(demo(faults=faults)), [one | {"_ng_attempt_index": 2} for one in ROWS])
    without_usage = [one for one in first if one["response"]["usage"] is None]
    truncated = [one for one in first if one["response"]["status"] == "incomplete"]
    empty = [one for one in first if not one["response"]["output"]]
    assert len(without_usage) / len(ROWS) == pytest.approx(0.5, abs=0.1)
    assert len(truncated) / len(ROWS) == pytest.approx(0.15, abs=0.07)
    assert len(empty) / len(ROWS) == pytest.approx(0.07, abs=0.05)
    assert all(one["reward"] == 0.0 for one in truncated + empty)


@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 1.0])
def test_the_share_of_faults(share: float) -> None:
    rows = [row("Task?", rollout=index) for index in range(1000)]
    failed = [one for one in results(agent(demo(faults=f"errors={share}")), rows) if not isinstance(one, dict)]
    assert len(failed) / 1000 == pytest.approx(share, abs=0.05)
    assert (len(failed) > 0) == (share > 0)


def test_choices() -> None:
    options = [{"A": "one"}, {"B": "two"}, {"C": "three"}]
    rows = [row("Which?", rollout=index, expected_answer="B", options=options) for index in range(40)]
    found = finished(agent(demo(seed=3), "multiple_choice"), rows)
    assert {one["extracted_answer"] for one in found} <= {"A", "B", "C"}
    assert len({one["response"]["id"] for one in found}) == 40


@given(st.lists(st.text(), max_size=3), st.text())
def test_draws(parts: list[str], word: str) -> None:
    draws = Draws(*parts)
    assert 0 <= draws.share(word) < 1
    assert draws.share(word) == Draws(*parts).share(word)
    assert draws.choice(word, (1, 2, 3)) in {1, 2, 3}


def test_draws_are_spread_evenly() -> None:
    shares = [Draws("a", place).share("b") for place in range(4000)]
    normals = [Draws("a", place).normal("c") for place in range(4000)]
    assert mean(shares) == pytest.approx(0.5, abs=0.02)
    assert mean(normals) == pytest.approx(0.0, abs=0.06)
    assert mean(value * value for value in normals) == pytest.approx(1.0, abs=0.1)
