"""A collection agrees in shape with NeMo Gym's, and the profile of what it collects is worked out slowly."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.cli.processes import run
from tests.cli.run_files import agents_of, tasks_of
from tests.collect import quiz
from tests.collect.datasets import inputs_of, rollouts_of, write_dataset
from tests.collect.scripted_agent import agent
from tests.runs import jsonl
from tests.slow_profile import difference, slow_profile

TASKS, REPEATS = 5, 4
CHANCE = random.Random(20261130)
DATASET = quiz.dataset(CHANCE, TASKS)
PLAN = [quiz.planned(row, task, index) for task, row in enumerate(DATASET) for index in range(REPEATS)]
ROLLOUTS = [
    quiz.rollout(CHANCE, row, CHANCE.choice([row["expected_answer"], CHANCE.choice(quiz.LETTERS)])) for row in PLAN
]
COLLECTED = ("agent_ref", *quiz.KEY)


def key_of(row: quiz.Row) -> tuple[int, ...]:
    return tuple(row[name] for name in quiz.KEY)


def shape(value: Any) -> Any:
    if isinstance(value, dict):
        return [(key, shape(one)) for key, one in value.items()]
    return list(map(shape, value)) if isinstance(value, list) else type(value).__name__


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("quiz")
    answers = {
        ":".join(map(str, key_of(one))): {name: one[name] for name in one if name not in COLLECTED} for one in ROLLOUTS
    }
    (folder / "answers.json").write_text(json.dumps(answers))
    write_dataset(folder, DATASET)
    args = ["collect", "-i", "data.jsonl", "-o", "out.jsonl", "-n", str(REPEATS)]
    with agent(folder, 0, folder / "answers.json") as one:
        done = run([*args, "--head-server", one.url], folder)
        assert f"no agent is called {quiz.AGENT}" in done.stderr
        done = run([*args, "--agent-url", one.url], folder)
    assert done.exit_code == 0, done.stderr
    return folder


def test_materialized_inputs(collected: Path) -> None:
    assert inputs_of(collected) == PLAN
    assert [list(row) for row in inputs_of(collected)] == [list(row) for row in PLAN]


def test_rollouts(collected: Path) -> None:
    found = sorted(rollouts_of(collected), key=key_of)
    assert found == ROLLOUTS
    assert {json.dumps(sorted(shape(row))) for row in found} == {json.dumps(sorted(shape(ROLLOUTS[0])))}


def test_the_profile_is_the_slow_one(collected: Path) -> None:
    assert run(["profile", "out.jsonl"], collected).exit_code == 0
    want = slow_profile([jsonl(PLAN)], [jsonl(ROLLOUTS)])
    assert {row["mean/reward"] for row in want.tasks} != {want.agents[0]["mean/reward"]}
    repeats = json.loads((collected / "out_repeat_level_metrics.json").read_text())
    assert difference(want.tasks, tasks_of(collected, "out")) is None
    assert difference(want.agents, agents_of(collected, "out")) is None
    assert difference(want.repeats, repeats) is None
