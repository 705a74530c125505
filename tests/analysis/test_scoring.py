"""Who votes, and who passes."""

from pathlib import Path

import polars as pl
import pytest

from pipeline.analysis.scoring import PassRule, partial_scores, voting
from pipeline.errors import UsageError
from pipeline.frames.lazy import collect
from tests.queries.asking import opened, rollout

C14 = {0: [0.0, 0.5, 1.0, 2.0], 1: [-1.0, 0.25, 0.99, 1.0]}
"""Rewards of the case on partial credit, as it was published."""


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (PassRule(), "reward >= 1"),
        (PassRule(threshold=0.1), "reward >= 0.1"),
        (PassRule(threshold=0.99999999), "reward >= 0.99999999"),
        (PassRule(score="s", threshold=-2, agents={"b": 0.5, "a": 3}), "s >= -2, a: s >= 3, b: s >= 0.5"),
    ],
)
def test_the_rule_in_words(rule: PassRule, words: str) -> None:
    assert str(rule) == words


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_threshold_is_a_number(value: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        PassRule(threshold=value)
    with pytest.raises(ValueError, match="finite"):
        PassRule(agents={"a": value})


def test_masked_and_unscored_rollouts_never_vote(tmp_path: Path) -> None:
    rows = [
        rollout(0, 0, 1.0),
        rollout(0, 1, 1.0, mask_sample=True),
        rollout(0, 2, None),
        rollout(0, 3, 0.0, passed=1),
        rollout(1, 0, 0.5, agent="b"),
    ]
    run = opened(tmp_path, rows)
    votes = collect(voting(run, PassRule(agents={"b": 0.5})))
    assert votes.select("_ng_task_index", "_ng_rollout_index", "_score", "_passed").rows() == [
        (0, 0, 1.0, True),
        (0, 3, 0.0, False),
        (1, 0, 0.5, True),
    ]
    assert votes.select(partial_scores()).item() == 1
    other = collect(voting(run, PassRule(score="passed")))
    assert other["_ng_rollout_index"].to_list() == [3]
    with pytest.raises(UsageError, match="there is no column 'absent'"):
        voting(run, PassRule(score="absent"))


@pytest.mark.parametrize(("threshold", "rates"), [(1.0, [0.5, 0.25]), (1e-300, [0.75, 0.75])])
def test_partial_credit(threshold: float, rates: list[float], tmp_path: Path) -> None:
    run = opened(tmp_path, [rollout(task, i, reward) for task, some in C14.items() for i, reward in enumerate(some)])
    votes = voting(run, PassRule(threshold=threshold))
    found = collect(votes.group_by("_ng_task_index").agg(pl.col("_passed").mean()).sort("_ng_task_index"))
    assert found["_passed"].to_list() == rates
    assert collect(votes)["_passed"].mean() == pytest.approx(sum(rates) / 2)
