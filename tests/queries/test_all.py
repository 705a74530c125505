"""What is true of every query."""

import inspect
import random
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from pipeline.errors import UsageError
from queries import QUERIES
from tests.queries.asking import SEEDS, answer, opened, rollout, some_rollouts
from tests.runs import Row, finished, planned

FORMS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in QUERIES),
    *((name, {"by": ["agent"]}) for name in QUERIES),
    ("hardest", {"n": 0}),
    ("reward_by_tokens", {"quantiles": False, "bins": 3}),
    ("token_correlation", {"per_task": True}),
    ("token_correlation", {"per_task": True, "by": ["agent"]}),
    ("zero_signal", {"summary": True}),
    ("zero_signal", {"summary": True, "by": ["agent"]}),
    ("zero_signal", {"metrics": ["reward", "output_tokens"], "min_rollouts": 1, "tolerance": 5.0}),
]
NEED_REWARD = {
    "agents",
    "cost",
    "hardest",
    "length_gap",
    "pass_rates",
    "repeat_spread",
    "reward_by_tokens",
    "token_correlation",
    "zero_signal",
}
MINE = {"length_gap": "field", "reward_by_tokens": "field", "token_correlation": "field", "cost": "field"}
MINE |= {"repeat_spread": "metric"}
form = pytest.mark.parametrize(("name", "parameters"), FORMS, ids=str)


@form
def test_nothing_one_and_many_rollouts_have_answers_of_the_same_columns(
    name: str, parameters: dict[str, Any], tmp_path: Path
) -> None:
    answers = []
    for rollouts in ([], [rollout(3, 0, 1.0, 50)], some_rollouts(0)):
        run = opened(tmp_path, rollouts)
        promised = QUERIES[name](run, **parameters).collect_schema()
        answers.append(answer(run, name, **parameters))
        assert answers[-1].schema == promised
    assert answers[0].schema == answers[1].schema == answers[2].schema
    always = (name, parameters) in (("token_correlation", {}), ("zero_signal", {"summary": True}))
    assert len(answers[0]) == (4 if always else 0)


@form
def test_every_column_and_parameter_is_documented(name: str, parameters: dict[str, Any], tmp_path: Path) -> None:
    text = inspect.getdoc(QUERIES[name]) or ""
    columns = answer(opened(tmp_path, []), name, **parameters).columns
    assert not [
        column for column in columns if f"`{column}`" not in text and column[1:] not in parameters.get("by", [])
    ]
    listed = re.findall(r"^    (\w+):", text.partition("Args:")[2].partition("Raises:")[0], re.MULTILINE)
    assert listed == list(inspect.signature(QUERIES[name]).parameters)
    assert text.split("\n")[0].endswith(".")


@form
@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_of_lines_changes_nothing(name: str, parameters: dict[str, Any], seed: int, tmp_path: Path) -> None:
    rollouts = some_rollouts(seed)
    expected = answer(opened(tmp_path, rollouts), name, **parameters)
    for again in range(2):
        shuffled = random.Random(again).sample(rollouts, len(rollouts))
        found = answer(opened(tmp_path, shuffled), name, **parameters)
        rows = {"check_row_order": name != "metric_table"}  # its metrics stand in the order of the run's
        assert_frame_equal(found, expected, check_exact=True, **rows)


@form
def test_masked_and_unscored_rollouts_have_no_vote(name: str, parameters: dict[str, Any], tmp_path: Path) -> None:
    rollouts = [row for row in some_rollouts(1) if not row["mask_sample"]]
    masked = [rollout(task, 90, 1.0, 10**6, mask_sample=True) for task in range(8)]
    unscored = [] if name in {"agents", "metric_table", "coverage"} else [rollout(task, 91, None, 5) for task in (0, 2)]
    expected = answer(opened(tmp_path, rollouts), name, **parameters)
    found = answer(opened(tmp_path, [*rollouts, *masked, *unscored]), name, **parameters)
    counted = {"coverage": ["tasks", "expected", "finished", "masked", "no_verdict"], "cost": ["left_out_tokens"]}
    beside = counted.get(name, [])
    assert_frame_equal(found.drop(beside), expected.drop(beside), check_exact=True)


@pytest.mark.parametrize("name", sorted(NEED_REWARD))
def test_a_run_without_rewards_is_refused_with_the_columns_that_there_are(name: str, tmp_path: Path) -> None:
    run = opened(tmp_path, [finished(0, 0, {"output_tokens": 5, "total_tokens": 6})])
    with pytest.raises(UsageError, match=r"no column 'reward'\n.*output_tokens, total_tokens, _ng_task_index"):
        answer(run, name)


@pytest.mark.parametrize("name", sorted(set(QUERIES) - NEED_REWARD))
def test_the_others_answer_about_a_run_without_rewards(name: str, tmp_path: Path) -> None:
    answer(opened(tmp_path, [finished(0, 0, {"output_tokens": 5})]), name)


@pytest.mark.parametrize(("name", "parameter"), MINE.items())
@pytest.mark.parametrize(
    ("column", "says"), [("nowhere", "there is no column 'nowhere'"), ("_agent", "'_agent' holds no numbers")]
)
def test_a_column_that_cannot_be_used_is_refused(
    name: str, parameter: str, column: str, says: str, tmp_path: Path
) -> None:
    run = opened(tmp_path, [rollout(0, 0, 1.0, 5)])
    with pytest.raises(UsageError, match=says):
        answer(run, name, **{parameter: column})


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize(
    ("by", "says"), [("nowhere", "there is no column 'nowhere'"), ("findings", "'_findings' holds lists")]
)
def test_a_group_that_cannot_be_made_is_refused(name: str, by: str, says: str, tmp_path: Path) -> None:
    run = opened(tmp_path, [rollout(0, 0, 1.0, 5)])
    with pytest.raises(UsageError, match=says):
        answer(run, name, by=[by])


@form
def test_no_group_is_called_like_a_figure(name: str, parameters: dict[str, Any], tmp_path: Path) -> None:
    figure = answer(opened(tmp_path, []), name, **parameters).columns[-1]
    run = opened(tmp_path, [rollout(0, 0, 1.0, 5, **{figure: 3})])
    with pytest.raises(UsageError, match=f"no grouping by '{figure}'"):
        answer(run, name, **parameters | {"by": [figure]})


@pytest.mark.parametrize("name", QUERIES)
def test_groups_are_sorted_and_may_be_null(name: str, tmp_path: Path) -> None:
    topics: list[Row] = [{"topic": "zinc"}, {"topic": "amber"}, {}, {"topic": "zinc"}]
    inputs = [planned(task, repeat, **topic) for task, topic in enumerate([*topics, *topics]) for repeat in range(3)]
    rollouts = [rollout(task, repeat, float(repeat or task < 4), 5) for task in range(8) for repeat in range(2)]
    run = opened(tmp_path, rollouts, inputs=inputs)
    found = answer(run, name, by=["input.topic", "input.topic"])["_input.topic"].to_list()
    assert list(dict.fromkeys(found)) == ["amber", "zinc", None]


@form
def test_a_group_has_the_answer_of_a_run_of_it_alone(name: str, parameters: dict[str, Any], tmp_path: Path) -> None:
    rollouts = some_rollouts(2)
    by = list(dict.fromkeys([*parameters.get("by", []), "row.topic"]))
    found = answer(opened(tmp_path, rollouts), name, **parameters | {"by": by})
    for topic in ("coins", "notes"):
        alone = opened(tmp_path, [row for row in rollouts if row["topic"] == topic])
        expected = answer(alone, name, **parameters | {"by": by})
        assert_frame_equal(
            found.filter(pl.col("_row.topic") == topic), expected, check_row_order=name != "metric_table"
        )


@pytest.mark.parametrize(("name", "parameter"), [*MINE.items(), ("zero_signal", "metrics")])
@pytest.mark.parametrize("column", ["*", "^out.*$", "{b}", "reward"])
def test_a_metric_may_have_any_name(name: str, parameter: str, column: str, tmp_path: Path) -> None:
    rollouts = [rollout(task, repeat, repeat % 2, 5) for task in range(2) for repeat in range(4)]
    for place, row in enumerate(rollouts):
        row.update({} if column == "reward" else {column: place})
    plain = [row | {"plain": row[column]} for row in rollouts]
    value = [column] if parameter == "metrics" else column
    expected = answer(opened(tmp_path, plain), name, **{parameter: ["plain"] if parameter == "metrics" else "plain"})
    assert_frame_equal(answer(opened(tmp_path, rollouts), name, **{parameter: value}), expected)


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("column", ["*", "^out.*$", "{b}"])
def test_groups_may_be_by_a_metric_of_any_name(name: str, column: str, tmp_path: Path) -> None:
    rollouts = [
        rollout(task, repeat, repeat % 2 or task, 5, **{column: repeat // 2})
        for task in range(2)
        for repeat in range(4)
    ]
    failures = [planned(0, repeat) for repeat in range(4)]
    found = answer(opened(tmp_path, rollouts, failures=failures), name, by=[column])
    assert set(found.get_column(column).to_list()) == {0, 1}
