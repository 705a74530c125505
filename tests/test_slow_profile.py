"""The slow oracle agrees with every recorded case, and with rules that no case is about."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.contract.cases import Case, oracle_cases, public_cases
from tests.slow_profile import SlowProfile, difference, read_json, slow_profile

Row = dict[str, Any]
USAGE_ERROR = 2
ANSWERED = [case for case in oracle_cases() if 0 in case.exit_codes]
REFUSED = [
    case
    for case in oracle_cases()
    if not {0, USAGE_ERROR} & {*case.exit_codes} and None not in (case.inputs, case.rollouts)
]


def by_name(case: Case) -> str:
    return case.name


def profile_case(case: Case, **options: Any) -> SlowProfile:
    assert case.inputs is not None
    assert case.rollouts is not None
    partial = any("partial" in flag for flag in case.flags)
    return slow_profile([case.inputs], [case.rollouts], partial=partial, **options)


def files_of(profile: SlowProfile) -> dict[str, list[Row]]:
    return {
        "_reward_profiling.jsonl": profile.tasks,
        "_agent_metrics.json": profile.agents,
        "_repeat_level_metrics.json": profile.repeats,
    }


def expected_files(case: Case) -> dict[str, list[Row]]:
    files = {}
    for suffix, content in case.expected.items():
        text = content.decode()
        if suffix.endswith(".jsonl"):
            files[suffix] = [read_json(line) for line in text.split("\n") if line]
        else:
            files[suffix] = read_json(text)
    return files


def compared(case: Case, rows: list[Row]) -> list[Row]:
    endings = case.ignore_keys_ending
    return [{key: value for key, value in row.items() if not key.endswith(endings)} for row in rows]


@pytest.mark.parametrize("case", ANSWERED, ids=by_name)
def test_answers(case: Case) -> None:
    profile = profile_case(case)
    assert profile.exit_code == 0
    for suffix, want in expected_files(case).items():
        assert difference(compared(case, want), compared(case, files_of(profile)[suffix])) is None


@pytest.mark.parametrize("case", REFUSED, ids=by_name)
def test_refusals(case: Case) -> None:
    profile = profile_case(case)
    assert profile.exit_code in case.exit_codes
    assert profile.faults
    assert not any(files_of(profile).values())


@pytest.mark.parametrize("number", sorted(public_cases().keys() - {"c06", "c09", "c10"}))
def test_figures_worked_out_by_hand(number: str) -> None:
    case = public_cases()[number]
    profile = profile_case(case)
    tasks = {str(row["_ng_task_index"]): row for row in profile.tasks}
    agents = {entry["agent_ref"]["name"]: entry for entry in profile.agents}
    for wanted, got in (("tasks", tasks), ("agents", agents)):
        for name, figures in case.values.get(wanted, {}).items():
            found = {key: value for key, value in got[name].items() if key in figures}
            assert difference(figures, found, order=False) is None


def jsonl(*rows: Row) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def planned(task: int = 0, rollout: int = 0, agent: Any = "a", **fields: Any) -> Row:
    return {"_ng_task_index": task, "_ng_rollout_index": rollout, "agent_ref": {"name": agent}, **fields}


def finished(task: int = 0, rollout: int = 0, usage: Row | None = None, **fields: Any) -> Row:
    response = {"response": {"usage": usage or {}}}
    return {"_ng_task_index": task, "_ng_rollout_index": rollout, **fields, **response}


def profile_of(inputs: list[Row], rollouts: list[Row], **options: Any) -> SlowProfile:
    return slow_profile([jsonl(*inputs)], [jsonl(*rollouts)], **options)


def means(row: Row) -> Row:
    """The means of a row, in order."""
    return {key.removeprefix("mean/"): value for key, value in row.items() if key.startswith("mean/")}


def numbers_in(info: Row) -> Row:
    """The numbers of a rollout info, in order."""
    return dict(list(info.items())[3:])


@pytest.mark.parametrize(
    ("inputs", "faults"),
    [
        ([jsonl(planned()), jsonl(planned())], set()),
        ([jsonl(planned()), jsonl(planned(), planned())], {"duplicate inputs"}),
        ([jsonl(planned(), planned())], {"duplicate inputs"}),
        ([jsonl(planned()), jsonl(planned(x=1))], {"duplicate inputs"}),
    ],
)
def test_identical_input_rows_of_different_files_are_one(inputs: list[bytes], faults: set[str]) -> None:
    profile = slow_profile(inputs, [jsonl(finished(reward=1))])
    assert profile.faults == faults
    assert [row["expected_num_rollouts"] for row in profile.tasks] == ([] if faults else [1])


def test_faults_of_keys_are_told_all_at_once_and_after_those_of_lines() -> None:
    inputs = [planned(), planned(), planned(1)]
    rollouts = [finished(), finished(), finished(2)]
    profile = profile_of(inputs, rollouts)
    assert profile.exit_code == 4
    assert profile.faults == {
        "duplicate inputs",
        "duplicate rollouts",
        "extra rollouts",
        "missing rollouts",
    }
    profile = profile_of(inputs, [*rollouts, {"_ng_task_index": 0.5}])
    assert profile.exit_code == 3
    assert profile.faults == {"bad index"}


@pytest.mark.parametrize(("keep", "reward"), [("first", 1), ("last", 3)])
def test_choice_of_duplicates_goes_by_files_and_lines(keep: str, reward: int) -> None:
    shards = [jsonl(finished(reward=1), finished(reward=2)), jsonl(finished(reward=3))]
    profile = slow_profile([jsonl(planned())], shards, on_duplicate=keep)
    assert means(profile.tasks[0]) == {"reward": reward}


def test_extra_rollouts_can_be_dropped() -> None:
    profile = profile_of([planned()], [finished(reward=1), finished(5, other=1)], on_extra="drop")
    assert [means(row) for row in profile.tasks] == [{"reward": 1}]


def test_every_row_can_be_profiled() -> None:
    rollouts = [finished(reward=0, mask_sample=True), finished(0, 1, reward=1)]
    profile = profile_of([planned(), planned(0, 1)], rollouts, masked="include")
    assert means(profile.tasks[0]) == {"reward": 0.5}
    assert not [key for key in profile.agents[0] if key.startswith("coverage/")]


def test_fan_out_goes_by_the_plan() -> None:
    inputs = [planned(), planned(0, 1, "b"), planned(1)]
    profile = profile_of(inputs, [finished(reward=1), finished(1, reward=1)], partial=True)
    assert [row["agent_ref"] for row in profile.tasks] == [{"name": "a"}, {"name": "a"}]
    assert [row["expected_num_rollouts"] for row in profile.tasks] == [1, 1]


@pytest.mark.parametrize(
    ("who", "labels"),
    [
        ([{"agent_ref": "a"}, {"agent_ref": {"name": 7}}], ["7", "a"]),
        ([{"_ng_environment_server": "s", "agent_ref": "a"}], ["a"]),
        ([{"_ng_environment_server": "s"}, {"agent_ref": "a"}], ["a", "s"]),
        ([{"_ng_environment_server": server, "agent_ref": "a"} for server in "st"], ["s", "t"]),
        ([{"_ng_environment_server": "s", "agent_ref": "a"}, {"agent_ref": "a"}], ["a", "s"]),
        ([{"_ng_environment_server": "s", "agent_ref": agent} for agent in "ab"], ["s"]),
        ([{"agent_ref": "b"}, {}], ["b"]),
        ([{"agent_ref": "b"}, {"agent_ref": "c"}, {}], ["b", "c", None]),
        ([{}], [None]),
    ],
)
def test_labels_of_agents(who: list[Row], labels: list[str | None]) -> None:
    inputs = [{"_ng_task_index": task, "_ng_rollout_index": 0, **row} for task, row in enumerate(who)]
    profile = profile_of(inputs, [finished(task, reward=1) for task in range(len(who))])
    assert [entry["agent_ref"]["name"] for entry in profile.agents] == labels


def test_agents_measured_come_before_masked_ones_and_nameless_ones_last() -> None:
    inputs = [planned(0, agent=None), planned(1, agent="a"), planned(2, agent="b"), planned(3, agent=None)]
    inputs[3]["_ng_environment_server"] = "s"
    masks = [False, True, False, True]
    rollouts = [finished(task, reward=1, mask_sample=mask) for task, mask in enumerate(masks)]
    profile = profile_of(inputs, rollouts)
    assert [entry["agent_ref"]["name"] for entry in profile.agents] == ["b", None, "a", "s"]


def test_a_made_name_that_is_taken_is_prefixed_again() -> None:
    fields: Row = {"n": 2, "row/n": 3, "usage/reward": 4, "rollout_id": 6}
    rollout = finished(usage={"n": 1, "reward": 5}, **fields)
    profile = profile_of([planned()], [rollout])
    assert means(profile.tasks[0]) == {
        "row/row/n": 2,
        "row/n": 3,
        "usage/reward": 4,
        "row/rollout_id": 6,
        "n": 1,
        "usage/usage/reward": 5,
    }


def test_a_name_in_any_usage_means_usage_everywhere() -> None:
    rollouts = [finished(n=1), finished(0, 1, usage={"n": 7}, n=7), finished(0, 2, usage={"n": 8}, n=9)]
    profile = profile_of([planned(rollout=index) for index in range(3)], rollouts)
    assert [numbers_in(info) for info in profile.tasks[0]["rollout_infos"]] == [
        {"row/n": 1},
        {"n": 7},
        {"n": 8, "row/n": 9},
    ]
    assert list(means(profile.tasks[0])) == ["row/n", "n"]


def test_infos_keep_the_order_of_their_rows_and_columns_that_of_first_numbers() -> None:
    rollouts = [finished(usage={"u": 1, "v": 1}, p=1), finished(0, 1, usage={"v": 2, "u": 2}, q=2, p=2)]
    row = profile_of([planned(), planned(0, 1)], rollouts).tasks[0]
    assert list(means(row)) == ["p", "u", "v", "q"]
    assert [list(numbers_in(info)) for info in row["rollout_infos"]] == [
        ["u", "v", "p"],
        ["v", "u", "q", "p"],
    ]


def test_nested_numbers_stand_where_their_object_stood() -> None:
    usage = {"u": 1, "details": {"cached": 2, "_x": 3}, "v": 4}
    scores = {"scores": {"b": True, "a": {"deep": 0.5, "list": [1]}}, "other": 9}
    rollout = finished(usage=usage, first=1, verifier=scores, last=2)
    row = profile_of([planned()], [rollout], nested=["usage", "verifier.scores"]).tasks[0]
    assert means(row) == {
        "first": 1,
        "verifier/scores/b": 1,
        "verifier/scores/a/deep": 0.5,
        "last": 2,
        "u": 1,
        "usage/details/cached": 2,
        "v": 4,
    }
    assert list(numbers_in(row["rollout_infos"][0]))[:3] == ["u", "usage/details/cached", "v"]


def test_counts_follow_the_statistics() -> None:
    rollouts = [finished(reward=1), finished(0, 1, reward=0, m=1)]
    profile = profile_of([planned(), planned(0, 1)], rollouts, counts=True)
    for row in (*profile.tasks, *profile.agents):
        keys = list(row)
        at = keys.index("std/reward") + 1
        assert keys[at : at + 2] == ["count/reward", "count/m"]
        assert [row["count/reward"], row["count/m"]] == [2, 1]


def test_repeats_know_the_metrics_of_other_agents() -> None:
    inputs = [planned(task, index, agent) for task, agent in enumerate("ab") for index in range(2)]
    rollouts = [finished(0, index, z=1, y=index or None) for index in range(2)]
    rollouts += [finished(1, index, z=1, y=1, x=1) for index in range(2)]
    _, second = profile_of(inputs, rollouts).agents
    spread = [key for key in second if key.startswith("mean_across_repeats/")]
    assert [key.removeprefix("mean_across_repeats/mean/") for key in spread] == ["z", "y", "x"]


ROWS = [finished(task, index) | {"reward": task * index, f"m{index}": 1} for task in range(2) for index in range(3)]
PLAN = jsonl(*(planned(row["_ng_task_index"], row["_ng_rollout_index"]) for row in ROWS))


@given(rows=st.permutations(ROWS), split=st.integers(0, len(ROWS)))
def test_order_of_lines_and_files_does_not_matter(rows: list[Row], split: int) -> None:
    want = slow_profile([PLAN], [jsonl(*ROWS)])
    assert slow_profile([PLAN], [jsonl(*rows[:split]), jsonl(*rows[split:])]) == want


@pytest.mark.parametrize(
    ("want", "got", "equal"),
    [
        (1, 1.0, True),
        (True, 1, True),
        (1.0, 1 + 1e-9, True),
        (1.0, 1 + 1e-7, False),
        (0.0, 1e-13, True),
        ({"a": None}, {}, True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, False),
        ({"a": [1, {"b": "x"}]}, {"a": [1, {"b": "y"}]}, False),
        ([1], [1, 1], False),
        ("1", 1, False),
        ([], {}, False),
    ],
)
def test_difference(want: Any, got: Any, equal: bool) -> None:
    assert (difference(want, got) is None) is equal


def test_difference_can_leave_out_the_order_of_keys() -> None:
    assert difference({"a": 1, "b": 2}, {"b": 2, "a": 1}, order=False) is None
