"""Rows become planned rollouts, numbered as NeMo Gym numbers them, their text unchanged."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.collect.datasets import Row, read_dataset
from pipeline.collect.materialize import check_room, planned
from pipeline.collect.options import PlanOptions
from pipeline.errors import SourceError
from tests.collect.datasets import row, write_dataset


def plan(folder: Path, rows: Any, **options: Any) -> list[dict[str, Any]]:
    chosen = PlanOptions(**options)
    lines = [one.line for one in planned(read_dataset(write_dataset(folder, rows), chosen), chosen)]
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in lines)
    return [json.loads(line) for line in lines]


def keys(rows: list[dict[str, Any]]) -> list[tuple[int, int]]:
    return [(one["_ng_task_index"], one["_ng_rollout_index"]) for one in rows]


def test_abc_becomes_aabbcc(tmp_path: Path) -> None:
    found = plan(tmp_path, [row("x"), row("y"), row("z")], repeats={"_default": 2})
    assert keys(found) == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]
    assert [one["responses_create_params"]["input"][0]["content"] for one in found] == list("xxyyzz")


def test_identical_rows_share_a_task_and_go_on(tmp_path: Path) -> None:
    found = plan(tmp_path, [row("x"), row("y"), row("x")], repeats={"_default": 2})
    assert keys(found) == [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (0, 3)]


def test_a_last_line_without_its_end_is_the_same_row(tmp_path: Path) -> None:
    line = json.dumps(row())
    assert keys(plan(tmp_path, f"{line}\n{line}".encode())) == [(0, 0), (0, 1)]


def test_a_rows_own_task_index_is_kept_and_no_other_gets_it(tmp_path: Path) -> None:
    rows = [row("x"), row("y", _ng_task_index=1), row("z"), row("y", _ng_task_index=1), row("w", _ng_task_index=-7)]
    assert keys(plan(tmp_path, rows)) == [(0, 0), (1, 0), (2, 0), (1, 1), (-7, 0)]


def test_a_rows_own_rollout_index_gives_way(tmp_path: Path) -> None:
    assert keys(plan(tmp_path, [row(_ng_task_index=4, _ng_rollout_index=9)], repeats={"_default": 2})) == [
        (4, 0),
        (4, 1),
    ]


def test_repeats_by_agent(tmp_path: Path) -> None:
    rows = [row("x", agent="a"), row("y", agent="b"), row("z", agent=None)]
    found = plan(tmp_path, rows, agent="c", repeats={"a": 2, "_default": 1})
    assert [one["agent_ref"] for one in found] == [{"name": "a"}, {"name": "a"}, {"name": "b"}, {"name": "c"}]


def test_seeds_are_rollout_indices(tmp_path: Path) -> None:
    body = json.dumps({"top_k": 5, "seed": 99})
    params = row("x")["responses_create_params"] | {"metadata": {"user": "u", "extra_body": body}}
    found = plan(tmp_path, [row("x", responses_create_params=params), row("y")], repeats={"_default": 2}, add_seed=True)
    metadata = [one["responses_create_params"]["metadata"] for one in found]
    assert [json.loads(one["extra_body"]) for one in metadata[:2]] == [{"top_k": 5, "seed": 0}, {"top_k": 5, "seed": 1}]
    assert [one["user"] for one in metadata[:2]] == ["u", "u"]
    assert metadata[2:] == [{"extra_body": '{"seed": 0}'}, {"extra_body": '{"seed": 1}'}]


def test_overrides(tmp_path: Path) -> None:
    params = {"input": "x", "temperature": 0.2, "top_p": 0.5}
    (found,) = plan(
        tmp_path, [row(responses_create_params=params)], overrides={"temperature": 1.0, "max_output_tokens": 7}
    )
    assert found["responses_create_params"] == {**params, "temperature": 1.0, "max_output_tokens": 7}


def test_the_text_of_a_row_stays_as_it_is(tmp_path: Path) -> None:
    text = '{ "responses_create_params": {"input" : [] , "temperature":0.10}, "n": 12345678901234567890123, "x":1e-7}'
    chosen = PlanOptions(agent="a", overrides={"top_p": 0.5})
    (one,) = planned(read_dataset(write_dataset(tmp_path, text.encode()), chosen), chosen)
    assert one.line.decode() == (
        '{ "responses_create_params": {"input" : [] , "temperature":0.10,"top_p":0.5}, "n": 12345678901234567890123,'
        ' "x":1e-7,"agent_ref":{"name":"a"},"_ng_task_index":0,"_ng_rollout_index":0}\n'
    )


ROWS = st.lists(
    st.builds(
        lambda text, task: Row(text, task, "a", names_agent=True, repeats=1),
        st.sampled_from([b'{"x":1}', b'{"y":1}', b'{"z":1}']),
        st.none() | st.integers(-1, 4),
    ),
    max_size=8,
)


@given(ROWS)
def test_numbers_tell_rows_apart(rows: list[Row]) -> None:
    tasks = [one.task for one in planned(rows, PlanOptions())]
    own = {one.task for one in rows if one.task is not None}
    for first, one in zip(tasks, rows, strict=True):
        for second, other in zip(tasks, rows, strict=True):
            if one.task is None and other.task is None:
                assert (first == second) is (one.text == other.text)
            elif one.task is None:
                assert first not in own
    made = [task for task, one in zip(tasks, rows, strict=True) if one.task is None]
    assert list(dict.fromkeys(made)) == sorted(set(made))


def test_a_plan_that_cannot_fit_on_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "to be made" / "out.jsonl"
    check_room(path, [Row(b"x" * 100, None, "a", True, 999_999)])
    with pytest.raises(
        SourceError, match=r"1,000,000,000,000,000 planned rollouts take 100,000,000\.0 GB, and .* free"
    ):
        check_room(path, [Row(b"x" * 100, None, "a", True, 10**15)])
    assert not list(tmp_path.iterdir())
