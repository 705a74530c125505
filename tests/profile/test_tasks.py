"""Figures of tasks are those of their measured rollouts."""

import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipeline.frames.lazy import collect
from pipeline.options import ProfileOptions
from pipeline.profile.tasks import profile_tasks
from tests.profile.plain import close, five
from tests.runs import Row, aligned, finished, plan_of, planned

PARTIAL = ProfileOptions(partial=True)
PLACE = ("_input_source", "_input_line", "_input_offset", "_input_length")


def tasks_of(
    folder: Path, inputs: list[Row], rollouts: list[Row], *, counts: bool = False, options: ProfileOptions = PARTIAL
) -> pl.DataFrame:
    frame = aligned(folder, inputs, rollouts, options)[0]
    return collect(profile_tasks(frame.lazy(), counts=counts))


def figures_in(row: dict[str, Any]) -> dict[str, Any]:
    """The figures of a row that have a value, in order."""
    return {name: value for name, value in row.items() if "/" in name and value is not None}


def one_task(folder: Path, rollouts: list[Row], **options: Any) -> dict[str, Any]:
    (row,) = tasks_of(folder, plan_of(rollouts), rollouts, **options).to_dicts()
    return row


@pytest.mark.parametrize(
    "values",
    [
        [1],
        [0.25, 0.75],
        [1, 2, 4],
        [3, 3, 3, 3],
        [True, False, True],
        [-1.5, 0, 1e-7, 1e7],
        [2**62, 2**62, -(2**62)],
        [0.1] * 10,
        [2**53 + 1, 1.0],
        [random.Random(7).gauss(0, 1) for _ in range(31)],
    ],
)
def test_five_statistics(values: list[float], tmp_path: Path) -> None:
    rollouts = [finished(0, index, m=value, usage={"u": -value}) for index, value in enumerate(values)]
    row = one_task(tmp_path, rollouts)
    want = five({"m": values, "u": [-value for value in values]}, rows=len(values))
    assert list(figures_in(row)) == list(want)
    assert figures_in(row) == close(want)
    assert {type(value) for value in figures_in(row).values()} == {float}


@pytest.mark.parametrize(
    ("values", "want"),
    [
        ([None, 1, None], five({"m": [1]}, rows=3)),
        ([None, 1, 3], five({"m": [1, 3]}, rows=3)),
        ([None, None], {}),
        ([1], five({"m": [1]}, rows=1)),
        ([float("nan"), 2], five({"m": [2]}, rows=2)),
        (["x", 2, 4], five({"m": [2, 4]}, rows=3)),
        ([1.7e308, 1.7e308], {"max/m": 1.7e308, "min/m": 1.7e308}),
    ],
)
def test_a_figure_without_a_value_is_null(values: list[Any], want: dict[str, float], tmp_path: Path) -> None:
    rollouts = [finished(0, index, m=value) for index, value in enumerate(values)]
    found = figures_in(one_task(tmp_path, rollouts))
    assert {name: found.get(name) for name in want} == close(want)
    assert max(values, key=lambda value: value == 1.7e308) == 1.7e308 or found.keys() == want.keys()


def test_columns_stand_statistic_by_statistic_then_counts(tmp_path: Path) -> None:
    rollouts = [finished(b=1, a=2), finished(0, 1, b=3, c=4)]
    frame = tasks_of(tmp_path, plan_of(rollouts), rollouts, counts=True)
    statistics = ("mean", "max", "min", "median", "std", "count")
    want = [f"{statistic}/{name}" for statistic in statistics for name in ("b", "a", "c")]
    assert [name for name in frame.columns if "/" in name] == want
    row = frame.row(0, named=True)
    assert [row[f"count/{name}"] for name in ("b", "a", "c")] == [2, 1, 1]
    assert frame.columns[:2] == ["_ng_task_index", "_row_agent"]
    assert frame.schema["num_rollouts"] == pl.Int64


def test_a_metric_that_a_task_has_not_is_null(tmp_path: Path) -> None:
    rollouts = [finished(0, m=1), finished(1, n=2)]
    frame = tasks_of(tmp_path, plan_of(rollouts), rollouts, counts=True)
    assert frame.select("mean/m", "mean/n", "std/m", "std/n", "count/m", "count/n").rows() == [
        (1.0, None, 0.0, None, 1, None),
        (None, 2.0, None, 0.0, None, 1),
    ]


@pytest.mark.parametrize(
    ("plan", "done", "masked", "counts"),
    [
        (3, [0, 1, 2], [], (3, 3, 0, 100.0)),
        (3, [1], [], (1, 3, 2, 100 / 3)),
        (4, [0, 1, 3], [1], (2, 3, 1, 200 / 3)),
        (2, [0, 1], [0], (1, 1, 0, 100.0)),
    ],
)
def test_expected_counts(
    plan: int, done: list[int], masked: list[int], counts: tuple[float, ...], tmp_path: Path
) -> None:
    rollouts = [finished(0, index, m=index, mask_sample=index in masked) for index in done]
    frame = tasks_of(tmp_path, [planned(0, index) for index in range(plan)], rollouts)
    counted = ("num_rollouts", "expected_num_rollouts", "missing_num_rollouts", "reward_profile_completion_pct")
    assert frame.select(counted).row(0) == pytest.approx(counts)
    measured = [index for index in done if index not in masked]
    assert figures_in(frame.row(0, named=True)) == close(five({"m": measured}, rows=len(measured)))


@pytest.mark.parametrize(("done", "first"), [([0, 1, 2], 0), ([2, 1], 1), ([2], 2)])
def test_the_sample_is_that_of_the_first_measured_rollout(done: list[int], first: int, tmp_path: Path) -> None:
    inputs = [planned(0, index) for index in (2, 1, 0)]
    rollouts = [finished(0, index, m=1, mask_sample=index == 9) for index in done]
    frame = tasks_of(tmp_path, inputs, rollouts)
    source, line, _offset, length = frame.select(PLACE).row(0)
    assert (Path(source).name, line, length) == ("inputs0.jsonl", 3 - first, len(str(planned(0, first))))


def test_tasks_without_a_measured_rollout_have_no_row(tmp_path: Path) -> None:
    rollouts = [finished(1, m=1), finished(2, m=1, mask_sample=True), finished(-5, m=1)]
    frame = tasks_of(tmp_path, [planned(task) for task in (0, 1, 2, -5)], rollouts)
    assert frame["_ng_task_index"].to_list() == [-5, 1]
    assert tasks_of(tmp_path, [planned()], []).is_empty()


def test_fan_out_gives_a_row_a_task_and_agent(tmp_path: Path) -> None:
    agents = {(0, 0): "b", (0, 1): "a", (0, 2): "b", (1, 0): "b", (2, 0): None, (2, 1): "b"}
    inputs = [planned(*key, agent) for key, agent in agents.items()]
    rollouts = [finished(*key, m=number) for number, key in enumerate(agents)]
    frame = tasks_of(tmp_path, [*inputs[:-1], planned(2, 1, "b"), planned(2, 2, "b")], rollouts)
    assert frame.select("_ng_task_index", "_agent", "num_rollouts", "expected_num_rollouts", "mean/m").rows() == [
        (0, "a", 1, 1, 1.0),
        (0, "b", 2, 2, 1.0),
        (1, "b", 1, 1, 3.0),
        (2, "b", 1, 2, 5.0),
        (2, None, 1, 1, 4.0),
    ]


def test_rollout_infos_go_by_rollout_index(tmp_path: Path) -> None:
    rollouts = [finished(3, index, a=index, reward=0.5, usage={"u": 1}) for index in (2, -1, 0)]
    (infos,) = tasks_of(tmp_path, plan_of(rollouts), rollouts)["rollout_infos"].to_list()
    assert [list(info) for info in infos] == [
        ["rollout_id", "_ng_task_index", "_ng_rollout_index", "reward", "a", "u"],
    ] * 3
    assert [(info["rollout_id"], info["a"]) for info in infos] == [("3:-1", -1), ("3:0", 0), ("3:2", 2)]
