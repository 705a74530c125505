"""The files agree in shape with those of a real run of NeMo Gym 0.7, and so does what is made of them.

`mcqa.json` has a real dataset's rows and a real rollout with invented words, what varies from rollout to rollout, and
the profile that the peer made of the run.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.processes import run
from tests.cli.run_files import agents_of, tasks_of
from tests.collect.datasets import inputs_of, rollouts_of, write_dataset
from tests.collect.scripted_agent import agent

REAL = json.loads((Path(__file__).parent / "mcqa.json").read_text())
COLLECTED = ("agent_ref", "_ng_task_index", "_ng_rollout_index")


def rollout(values: list[Any]) -> dict[str, Any]:
    """A rollout as the real one is, with these values."""
    task, index, reward, expected, extracted, usage = values
    made: dict[str, Any] = json.loads(json.dumps(REAL["rollout"]))
    counts = dict(zip(("input_tokens", "output_tokens", "total_tokens"), usage, strict=True))
    made["response"]["usage"].update(counts)
    key = {"_ng_task_index": task, "_ng_rollout_index": index}
    return made | {"reward": reward, "expected_answer": expected, "extracted_answer": extracted, **key}


def shape(value: Any) -> Any:
    if isinstance(value, dict):
        return [(key, shape(one)) for key, one in value.items()]
    return list(map(shape, value)) if isinstance(value, list) else type(value).__name__


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mcqa")
    rollouts = [rollout(values) for values in REAL["varying"]]
    answers = {
        f"{one['_ng_task_index']}:{one['_ng_rollout_index']}": {k: v for k, v in one.items() if k not in COLLECTED}
        for one in rollouts
    }
    (folder / "answers.json").write_text(json.dumps(answers))
    write_dataset(folder, REAL["dataset"])
    with agent(folder, 0, folder / "answers.json") as one:
        done = run(["collect", "-i", "data.jsonl", "-o", "out.jsonl", "-n", "4", "--head-server", one.url], folder)
        assert "no agent is called mcqa_simple_agent" in done.stderr
        done = run(["collect", "-i", "data.jsonl", "-o", "out.jsonl", "-n", "4", "--agent-url", one.url], folder)
    assert done.exit_code == 0, done.stderr
    return folder


def test_materialized_inputs(collected: Path) -> None:
    key = ("_ng_task_index", "_ng_rollout_index")
    wanted = [
        row | dict(zip(key, (task, index), strict=True))
        for task, row in enumerate(REAL["dataset"])
        for index in range(4)
    ]
    assert inputs_of(collected) == wanted
    assert [list(row) for row in inputs_of(collected)] == [list(row) for row in wanted]


def test_rollouts(collected: Path) -> None:
    found = sorted(rollouts_of(collected), key=lambda row: (row["_ng_task_index"], row["_ng_rollout_index"]))
    wanted = [rollout(values) for values in REAL["varying"]]
    assert found == sorted(wanted, key=lambda row: (row["_ng_task_index"], row["_ng_rollout_index"]))
    assert {json.dumps(sorted(shape(row))) for row in found} == {json.dumps(sorted(shape(REAL["rollout"])))}


def test_the_profile_is_that_of_the_peer(collected: Path) -> None:
    assert run(["profile", "out.jsonl"], collected).exit_code == 0
    tasks = [{key: value for key, value in row.items() if key != "sample"} for row in tasks_of(collected, "out")]
    assert approximately(tasks, REAL["tasks"])
    assert approximately(agents_of(collected, "out"), REAL["agents"])
    repeats = json.loads((collected / "out_repeat_level_metrics.json").read_text())
    assert approximately(repeats, REAL["repeats"])


def approximately(found: Any, wanted: Any) -> bool:
    """Whether two values are alike, numbers to the last digits."""
    if isinstance(wanted, dict):
        return list(found) == list(wanted) and all(approximately(found[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(approximately, found, wanted))
    return bool(found == (pytest.approx(wanted, rel=1e-8) if isinstance(wanted, float) else wanted))
