"""What is written is JSON: keys in their order, numbers to their last digit, nothing that is null."""

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest

from pipeline.options import ProfileOptions
from tests.runs import Row, finished, means, numbers_in, plan_of, planned, profiled

PARTIAL = ProfileOptions(partial=True)
ODD_NAMES = [
    'q"',
    "\\",
    "\n",
    "\x00",
    "\x7f",
    "\u2028",
    "é",
    "大小",
    "\U0001f600",
    "",
    " ",
    "a/b",
    "{}",
    "{b}",
    "*",
    "^.*$",
    "'",
    "</script>",
    "%s",
]
NUMBERS = [
    0,
    -0.0,
    1,
    -1,
    0.1,
    1e-7,
    5e-324,
    1e22,
    1e-5,
    123456789.125,
    2**53,
    2**63 - 1,
    -(2**63),
    1.7976931348623157e308,
]


@pytest.mark.parametrize("name", ODD_NAMES)
@pytest.mark.parametrize("place", ["row", "usage"])
def test_names_of_any_kind(name: str, place: str, tmp_path: Path) -> None:
    fields = [{name: value} for value in (1, 2.5)]
    rollouts = [
        finished(0, index, usage=field) if place == "usage" else finished(0, index, **field)
        for index, field in enumerate(fields)
    ]
    profile = profiled(tmp_path, plan_of(rollouts), rollouts)
    assert means(profile.tasks[0]) == means(profile.agents[0]) == {name: 1.75}
    assert [numbers_in(info) for info in profile.tasks[0]["rollout_infos"]] == fields
    assert [means(entry) for entry in profile.repeats] == fields


@pytest.mark.parametrize("name", ODD_NAMES)
def test_agents_of_any_name(name: str, tmp_path: Path) -> None:
    inputs = [planned(0, index, agent) for index, agent in enumerate((name, "other"))]
    profile = profiled(tmp_path, inputs, [finished(0, index, m=1) for index in range(2)])
    assert {row["agent_ref"]["name"] for row in profile.tasks} == {name, "other"}
    assert {row["agent_ref"]["name"] for row in profile.agents} == {name, "other"}


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_to_their_last_digit(number: float, tmp_path: Path) -> None:
    profile = profiled(tmp_path, [planned()], [finished(m=number)])
    (info,) = profile.tasks[0]["rollout_infos"]
    assert repr(info["m"]) == repr(number)
    for row in (profile.tasks[0], profile.agents[0]):
        assert [repr(row[f"{name}/m"]) for name in ("mean", "max", "min")] == [repr(float(number))] * 3
        assert repr(row["median/m"]) == repr(number + 0.0)  # of zero without a sign


def test_a_task_row_in_order(tmp_path: Path) -> None:
    rollouts = [finished(7, index, b=1, reward=0.5, usage={"u": 2}) for index in range(2)]
    row = profiled(tmp_path, plan_of(rollouts), rollouts, ProfileOptions(counts=True)).tasks[0]
    statistics = [f"{name}/{metric}" for name in ("mean", "max", "min", "median", "std", "count") for metric in METRICS]
    assert list(row) == ["_ng_task_index", *statistics, *COUNTED]
    assert [row[name] for name in COUNTED[:-1]] == [{"agent_ref": {"name": "a"}}, 2, 2, 0, 100.0]
    (first, second) = row["rollout_infos"]
    assert list(first.items()) == [
        ("rollout_id", "7:0"),
        ("_ng_task_index", 7),
        ("_ng_rollout_index", 0),
        ("reward", 0.5),
        ("u", 2),
        ("b", 1),
    ]
    assert second["rollout_id"] == "7:1"


METRICS = ("b", "reward", "u")
COUNTED = (
    "sample",
    "num_rollouts",
    "expected_num_rollouts",
    "missing_num_rollouts",
    "reward_profile_completion_pct",
    "rollout_infos",
)
ACROSS = ("mean", "median", "std", "min", "max", "se", "ci_low_95", "ci_high_95")
COVERAGE = ("measured_rollouts", "masked_rollouts", "measured_tasks", "fully_masked_tasks")
AT_REPEAT = ("mean", "median", "std", "sem", "min", "max", "p25", "p75", "ci_low_95", "ci_high_95")


def test_with_fan_out_the_agent_stands_before_the_sample(tmp_path: Path) -> None:
    inputs = [planned(0, 0, "a"), planned(0, 1, "b"), planned(1, 0, "a")]
    profile = profiled(tmp_path, inputs, [finished(0, 0), finished(0, 1), finished(1, 0)])
    assert [list(row)[:3] for row in profile.tasks] == [["_ng_task_index", "agent_ref", "sample"]] * 3
    assert [(row["_ng_task_index"], row["agent_ref"]) for row in profile.tasks] == [
        (0, {"name": "a"}),
        (0, {"name": "b"}),
        (1, {"name": "a"}),
    ]


def test_an_agent_entry_in_order(tmp_path: Path) -> None:
    rollouts = [finished(task, index, z=index, a=1) for task in range(2) for index in range(2)]
    rollouts.append(finished(2, 0, mask_sample=True))
    (entry,) = profiled(tmp_path, plan_of(rollouts), rollouts).agents
    statistics = [f"{name}/{metric}" for name in ("mean", "max", "min", "median", "std") for metric in "za"]
    across = [f"{name}_across_repeats/mean/{metric}" for metric in "az" for name in ACROSS]
    assert list(entry) == [*statistics, "agent_ref", *across, *(f"coverage/{name}" for name in COVERAGE)]
    assert entry["agent_ref"] == {"name": "a"}


def test_a_repeat_entry_in_order(tmp_path: Path) -> None:
    rollouts = [finished(task, index, z=1, B=1, a=1) for task in range(2) for index in range(2)]
    profile = profiled(tmp_path, plan_of(rollouts), rollouts)
    figures = [f"{name}/{metric}" for metric in "Baz" for name in AT_REPEAT]
    for index, entry in enumerate(profile.repeats):
        assert list(entry) == ["agent_ref", "_ng_rollout_index", "sample_count", "missing_count", *figures]
        assert entry["_ng_rollout_index"] == index


def test_metrics_across_repeats_stand_in_the_order_of_the_repeat_entries(tmp_path: Path) -> None:
    inputs = [planned(task, index, agent) for task, agent in enumerate("ab") for index in range(2)]
    rollouts = [finished(0, index, z=1, y=index or None) for index in range(2)]
    rollouts += [finished(1, index, z=1, y=1, x=1) for index in range(2)]
    _, second = profiled(tmp_path, inputs, rollouts).agents
    spread = [key.removeprefix("mean_across_repeats/mean/") for key in second if key.startswith("mean_across_repeats")]
    assert spread == ["z", "y", "x"]


@pytest.mark.parametrize(
    ("rollouts", "infos"),
    [
        ([finished(b=1, a=2), finished(0, 1, a=2, b=1)], [["b", "a"], ["a", "b"]]),
        (
            [finished(a=1, reward=1, usage={"v": 1, "u": 1}), finished(0, 1, usage={"u": 1, "v": 1}, reward=1, a=1)],
            [["reward", "v", "u", "a"], ["reward", "u", "v", "a"]],
        ),
        ([finished(a=1), finished(0, 1, c=1, a=1, b=1), finished(0, 2, b=1)], [["a"], ["c", "a", "b"], ["b"]]),
        ([finished(n=1, a=1, usage={"n": 2})], [["n", "row/n", "a"]]),
        ([finished(n=1, a=1, usage={"n": 1})], [["n", "a"]]),
        ([finished(usage={"reward": 1}, reward=2, a=1)], [["reward", "usage/reward", "a"]]),
    ],
)
def test_infos_keep_the_order_of_their_rows(rollouts: list[Row], infos: list[list[str]], tmp_path: Path) -> None:
    profile = profiled(tmp_path, plan_of(rollouts), rollouts)
    assert [list(numbers_in(info)) for info in profile.tasks[0]["rollout_infos"]] == infos


@pytest.mark.parametrize(
    ("left_out", "options"),
    [
        (finished(7, usage={"n": 2}), ProfileOptions(on_extra="drop")),
        (finished(usage={"n": 2}), ProfileOptions(on_duplicate="first")),
        (finished(1, mask_sample=True, usage={"n": 2}), ProfileOptions()),
    ],
    ids=["extra", "duplicate", "masked"],
)
def test_rollouts_that_are_left_out_do_not_decide_on_names(
    left_out: Row, options: ProfileOptions, tmp_path: Path
) -> None:
    profile = profiled(
        tmp_path,
        [planned(), *plan_of([left_out] * bool(left_out.get("mask_sample")))],
        [finished(n=1), left_out],
        options,
    )
    assert means(profile.tasks[0]) == {"n": 1}


def test_many_kinds_of_rows(tmp_path: Path) -> None:
    names = [f"m{number}" for number in range(8)]
    shapes = [names[start:] + names[:start] for start in range(8)] + [names[::-1][start:] for start in range(8)]
    rollouts = [
        finished(task, index, **dict.fromkeys(shapes[(task + index) % 16], task + index))
        for task in range(16)
        for index in range(3)
    ]
    profile = profiled(tmp_path, plan_of(rollouts), rollouts)
    for task, row in enumerate(profile.tasks):
        for index, info in enumerate(row["rollout_infos"]):
            assert list(numbers_in(info)) == shapes[(task + index) % 16]
            assert set(numbers_in(info).values()) == {task + index}


def test_many_kinds_of_rows_that_lack_numbers(tmp_path: Path) -> None:
    chance = random.Random(5)
    names = [f"m{number}" for number in range(30)]
    rollouts = [
        finished(
            task, index, {"u": 1}, **{name: chance.choice([1, 2.5, math.nan]) for name in chance.sample(names, 20)}
        )
        for task in range(40)
        for index in range(2)
    ]
    profile = profiled(tmp_path, plan_of(rollouts), rollouts)
    infos = [info for row in profile.tasks for info in row["rollout_infos"]]
    for rollout, info in zip(rollouts, infos, strict=True):
        known = {name: value for name, value in rollout.items() if name in names and not math.isnan(value)}
        assert list(numbers_in(info).items()) == [("u", 1), *known.items()]


@pytest.mark.parametrize("value", [None, "text", math.nan, math.inf, -math.inf, [1], {"a": 1}])
def test_what_is_no_number_has_no_key(value: Any, tmp_path: Path) -> None:
    rollouts = [finished(m=value, reward=value), finished(0, 1, reward=1)]
    profile = profiled(tmp_path, plan_of(rollouts), rollouts)
    assert [numbers_in(info) for info in profile.tasks[0]["rollout_infos"]] == [{}, {"reward": 1}]
    assert means(profile.tasks[0]) == {"reward": 1}
    assert "std/reward" not in profile.tasks[0]


@pytest.mark.parametrize(
    ("inputs", "rollouts"),
    [(b"", []), ([planned()], []), ([planned(), planned(1)], [finished(5)])],
    ids=["nothing planned", "nothing finished", "only extra ones"],
)
def test_without_rollouts_the_files_are_empty(inputs: Any, rollouts: list[Row], tmp_path: Path) -> None:
    options = ProfileOptions(partial=True, on_extra="drop")
    assert profiled(tmp_path, inputs, rollouts, options).contents == (b"", b"[]", b"[]")


def test_where_everything_is_masked_agents_have_their_coverage(tmp_path: Path) -> None:
    rollouts = [finished(0, index, m=1, mask_sample=True) for index in range(2)]
    profile = profiled(tmp_path, plan_of(rollouts), rollouts)
    assert (profile.tasks, profile.repeats) == ([], [])
    counts = dict(zip((f"coverage/{name}" for name in COVERAGE), (0, 2, 0, 1), strict=True))
    assert profile.agents == [{"agent_ref": {"name": "a"}, **counts}]


def test_files_are_utf_8_with_line_feeds(tmp_path: Path) -> None:
    rollouts = [finished(task, größe=1) for task in range(3)]
    profile = profiled(tmp_path, plan_of(rollouts), rollouts)
    tasks, agents, repeats = (content.decode("utf-8") for content in profile.contents)
    assert tasks.count("\n") == 3
    assert tasks.endswith("}\n")
    assert "\r" not in tasks + agents + repeats
    assert [json.loads(line)["_ng_task_index"] for line in tasks.splitlines()] == [0, 1, 2]
