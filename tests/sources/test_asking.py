"""What a row asks, whatever the options of the run that planned it; and what these options left in it."""

import json
from typing import Any

import pytest

from pipeline.sources import rows
from pipeline.sources.asking import Asking, RunLevel, asking_of

ROW: dict[str, Any] = {
    "responses_create_params": {"input": [{"role": "user", "content": "2 + 2"}], "tools": [], "temperature": 1.0},
    "answer": "4",
}


def asking(row: dict[str, Any], **options: Any) -> Asking:
    return asking_of(rows.parse(memoryview(json.dumps(row).encode())), **options)


def with_params(**params: Any) -> dict[str, Any]:
    return {**ROW, "responses_create_params": {**ROW["responses_create_params"], **params}}


@pytest.mark.parametrize(
    "planned",
    [
        with_params(temperature=0.2, max_output_tokens=9, reasoning={"effort": "high"}, metadata={"extra_body": "{}"}),
        {**ROW, "_ng_task_index": 4, "_ng_rollout_index": 1, "agent_ref": {"name": "a"}, "skills_ref": {"hash": "x"}},
        {**ROW, "reward_profiles": [{"model_hf_path": "m", "pass_rate": 0.5}]},
        {"answer": "4", "responses_create_params": {"input": [{"content": "2 + 2", "role": "user"}]}},
    ],
    ids=["options", "bookkeeping", "profiles", "order of keys, no tools"],
)
def test_a_run_may_have_planned_it(planned: dict[str, Any]) -> None:
    assert asking(ROW).fits(asking(planned))


@pytest.mark.parametrize(
    "planned",
    [
        {**ROW, "answer": "5"},
        {**ROW, "domain": "math"},
        with_params(input="2 + 2"),
        with_params(tools=[{"name": "calculator"}]),
        {"answer": "4"},
    ],
    ids=["field", "one more field", "prompt", "tools", "no prompt"],
)
def test_another_row(planned: dict[str, Any]) -> None:
    assert not asking(ROW).fits(asking(planned))


def test_a_prompt_may_come_from_a_template_of_the_run() -> None:
    bare = {"answer": "4", "responses_create_params": {"temperature": 1.0}}
    assert asking(bare).fits(asking(ROW))
    assert asking({"answer": "4"}).fits(asking(ROW))
    assert not asking({"answer": "5"}).fits(asking(ROW))


def test_a_rollout_has_other_fields() -> None:
    assert asking(ROW, fields=False).fits(asking({**ROW, "answer": "5", "reward": 1}, fields=False))
    assert not asking(ROW, fields=False).fits(asking(with_params(input="3"), fields=False))


def told(*given: dict[str, Any]) -> RunLevel:
    level = RunLevel()
    for row in given:
        text = json.dumps(row).encode()
        level.add(rows.parse(memoryview(text)), text)
    return level


def test_what_is_the_same_in_every_row_may_be_an_override() -> None:
    level = told(with_params(top_p=0.9), with_params(top_p=0.9, model="m"), with_params(top_p=0.9, temperature=0.5))
    assert level.overrides() == {"top_p": "0.9"}
    assert level.rows == 3
    assert told(with_params(n=1), with_params(n=1.0), with_params(n=1)).overrides() == {"temperature": "1.0"}
    assert told(ROW, {"answer": "x"}).overrides() == {}


def test_seeds_and_skills() -> None:
    level = told(
        with_params(seed=0),
        with_params(metadata={"extra_body": '{"seed": 3}'}),
        with_params(metadata={"extra_body": '{"top_k": 3}'}),
        with_params(metadata={"extra_body": "no JSON"}),
        with_params(metadata=None),
        {**ROW, "skills_ref": {"hash": "x"}},
    )
    assert (level.seeds, level.skills) == (2, 1)


def test_rows_that_are_alike() -> None:
    assert told(ROW, {**ROW, "answer": "5"}, ROW, ROW).alike == 2
