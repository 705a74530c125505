"""Groups that teach nothing."""

from math import nextafter
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import UsageError
from queries.zero_signal import KINDS
from tests.queries.asking import SEEDS, answer, ask, grouped, mean, opened, rewards, rollout, some_rollouts, voting

SAME = [[0.4] * 3, [0.4, 0.4, nextafter(0.4, 1)], [0.0] * 3, [1.0] * 3, [0.0, 0.0, 1.0]]
ROLLOUTS = [rollout(task, place, reward) for task, group in enumerate(SAME) for place, reward in enumerate(group)]


@pytest.mark.parametrize(
    ("tolerance", "tasks", "kinds"),
    [
        (0.0, [0, 2, 3], ["other", "all_fail", "all_pass"]),
        (1e-6, [0, 1, 2, 3], ["other", "other", "all_fail", "all_pass"]),
    ],
)
def test_rewards_that_are_the_same(tolerance: float, tasks: list[int], kinds: list[str], tmp_path: Path) -> None:
    found = ask(tmp_path, "zero_signal", ROLLOUTS, tolerance=tolerance)
    assert [row["_ng_task_index"] for row in found] == tasks
    assert [row["kind"] for row in found] == kinds
    assert [row["exact"] for row in found] == [task != 1 for task in tasks]
    assert found[0] | {"_agent": "a", "mean_reward": 0.4, "spread": 0.0, "rollouts": 3} == found[0]


def test_summary(tmp_path: Path) -> None:
    found = ask(tmp_path, "zero_signal", ROLLOUTS, tolerance=1e-6, summary=True)
    assert [(row["kind"], row["exact"], row["within_tolerance"]) for row in found] == [
        ("all_pass", 1, 1),
        ("all_fail", 1, 1),
        ("other", 1, 2),
        ("any", 3, 4),
    ]
    assert [row["share_exact"] for row in found] == [0.2, 0.2, 0.2, 0.6]
    assert [row["share_within_tolerance"] for row in found] == [0.2, 0.2, 0.4, 0.8]
    assert {(row["groups"], row["too_small"]) for row in found} == {(5, 0)}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("tolerance", [0.0, 0.5])
def test_groups(seed: int, tolerance: float, tmp_path: Path) -> None:
    rollouts = some_rollouts(seed)
    groups = {key: rewards(group) for key, group in grouped(voting(rollouts)).items()}
    large = {key: group for key, group in groups.items() if len(group) > 1}
    expected = {key: group for key, group in large.items() if max(group) - min(group) <= tolerance}
    found = ask(tmp_path, "zero_signal", rollouts, tolerance=tolerance)
    for row, (key, group) in zip(found, expected.items(), strict=True):
        assert (row["_ng_task_index"], row["_agent"], row["rollouts"]) == (*key, len(group))
        assert (row["min_reward"], row["max_reward"]) == (min(group), max(group))
        assert row["mean_reward"] == pytest.approx(mean(group))
        assert row["exact"] == (len(set(group)) == 1)
    total = ask(tmp_path, "zero_signal", rollouts, tolerance=tolerance, summary=True)[-1]
    assert total["within_tolerance"] == len(expected)
    assert (total["groups"], total["too_small"]) == (len(large), len(groups) - len(large))
    assert total["share_within_tolerance"] == pytest.approx(len(expected) / len(large))


def test_the_sum_can_be_the_same_where_components_differ(tmp_path: Path) -> None:
    parts: list[list[dict[str, Any]]] = [
        [{"city": 0.0, "call": 1.0, "tidy": 1.0}, {"city": 1.0, "call": 1.0, "tidy": 0.0}],
        [{"city": 1.0, "call": 1.0, "tidy": 1.0}, {"city": None, "call": None, "tidy": None}],
    ]
    rollouts = [
        rollout(task, place, sum(value or 0.0 for value in one.values()), parts=one)
        for task, group in enumerate(parts)
        for place, one in enumerate(group)
    ]
    run = opened(tmp_path, rollouts, nested=("parts",))

    def tasks(*metrics: str) -> list[int]:
        return answer(run, "zero_signal", metrics=metrics)["_ng_task_index"].to_list()

    assert tasks("reward") == [0]
    assert tasks("parts/tidy") == []
    assert tasks("parts/call") == [0]
    assert tasks("parts/call", "parts/city") == []
    assert tasks("reward", "parts/city", "parts/tidy") == []
    with pytest.raises(UsageError, match="there is no column 'parts/no'"):
        tasks("parts/no")


def test_one_rollout_is_no_group_unless_that_is_asked_for(tmp_path: Path) -> None:
    rollouts = [rollout(0, 0, 1.0), rollout(1, 0, -1.0)]
    assert ask(tmp_path, "zero_signal", rollouts) == []
    assert [row["kind"] for row in ask(tmp_path, "zero_signal", rollouts, min_rollouts=1)] == ["all_pass", "all_fail"]
    assert ask(tmp_path, "zero_signal", rollouts, summary=True)[-1] == {
        "kind": "any",
        "exact": 0,
        "within_tolerance": 0,
        "share_exact": None,
        "share_within_tolerance": None,
        "groups": 0,
        "too_small": 2,
    }


@pytest.mark.parametrize("parameters", [{"tolerance": -1.0}, {"tolerance": float("nan")}, {"metrics": []}])
def test_senseless_parameters_are_refused(parameters: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no tolerance|no metric"):
        ask(tmp_path, "zero_signal", ROLLOUTS, **parameters)


def test_groups_within_groups_of_other_columns(tmp_path: Path) -> None:
    cells = [(0, "coins", [1.0, 1.0]), (0, "notes", [0.0, 1.0]), (1, "notes", [0.0, 0.0]), (1, "coins", [1.0])]
    rollouts = [
        rollout(task, 10 * place + repeat, reward, topic=topic)
        for place, (task, topic, group) in enumerate(cells)
        for repeat, reward in enumerate(group)
    ]
    found = ask(tmp_path, "zero_signal", rollouts, by=["row.topic"])
    assert [tuple(row.values())[:4] for row in found] == [("coins", 0, "a", "all_pass"), ("notes", 1, "a", "all_fail")]
    counted = ask(tmp_path, "zero_signal", rollouts, by=["row.topic"], summary=True)
    columns = ("_row.topic", "kind", "exact", "share_exact", "groups", "too_small")
    assert [tuple(row[name] for name in columns) for row in counted] == [
        *(("coins", kind, *rest, 1, 1) for kind, *rest in zip(KINDS, [1, 0, 0, 1], [1.0, 0.0, 0.0, 1.0], strict=True)),
        *(("notes", kind, *rest, 2, 0) for kind, *rest in zip(KINDS, [0, 1, 0, 1], [0.0, 0.5, 0.0, 0.5], strict=True)),
    ]
