"""What is chosen of a small run, by hand: candidates, every rule and its ends, sampling, control, stages."""

from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipeline.analysis.bands import Span
from pipeline.analysis.candidates import candidates
from pipeline.analysis.scoring import PassRule
from pipeline.analysis.selection import Selected, Selection, select
from pipeline.errors import UsageError
from pipeline.frames.lazy import collect
from pipeline.run import Run
from tests.analysis.runs_of_tasks import opened, rows_of

REWARDS: dict[int, list[float | None]] = {
    0: [0, 0, 0, 0],  # never
    1: [0, 0, 0, 0, 1],  # 0.2
    2: [0, 1, 0, 1],  # 0.5
    3: [1, 1, 1, 1, 0],  # 0.8
    4: [1, 1, None, 1],  # always
    5: [None, None],  # nothing finished
    6: [0.5, 0.4, 0, 0],  # never by the default rule, and yet a signal
    7: [1],  # one rollout
}
DOMAINS = {0: "x", 1: "x", 2: "y", 3: "x", 4: "y", 6: "x"}


def run_of(folder: Path, **verdicts: Any) -> Run:
    samples = {task: {"meta": {"domain": domain}} for task, domain in DOMAINS.items()}
    return opened(folder, *rows_of(REWARDS, samples), "meta.domain", **verdicts)


def pool_of(folder: Path, rule: PassRule | None = None) -> pl.DataFrame:
    return collect(candidates(run_of(folder), rule or PassRule()))


def chosen(found: Selected) -> list[int]:
    return found.chosen["_ng_task_index"].to_list()


def test_candidates(tmp_path: Path) -> None:
    pool = pool_of(tmp_path)
    assert pool["_ng_task_index"].to_list() == list(REWARDS)
    assert pool["_agent"].to_list() == ["a"] * 8
    assert pool["planned"].to_list() == [4, 5, 4, 5, 4, 2, 4, 1]
    assert pool["rollouts"].to_list() == [4, 5, 4, 5, 3, 0, 4, 1]
    assert pool["passed"].to_list() == [0, 1, 2, 4, 3, 0, 0, 1]
    assert pool["pass_rate"].to_list() == [0.0, 0.2, 0.5, 0.8, 1.0, None, 0.0, 1.0]
    assert pool["mean_score"].to_list() == [0.0, 0.2, 0.5, 0.8, 1.0, None, pytest.approx(0.225), 1.0]
    assert pool["max_score"].to_list() == [0.0, 1.0, 1.0, 1.0, 1.0, None, 0.5, 1.0]
    # task 4 has tokens 10, 20 and 40, for its third rollout is missing
    assert pool["mean/output_tokens"].to_list() == [25.0, 30.0, 25.0, 30.0, pytest.approx(70 / 3), None, 25.0, 10.0]
    assert pool["_sample.meta.domain"].to_list() == ["x", "x", "y", "x", "y", None, "x", None]
    assert pool["_input_line"].to_list()[:3] == [1, 5, 10]


def test_masked_and_unscored_rollouts_have_no_vote(tmp_path: Path) -> None:
    inputs, rollouts = rows_of({0: [1, 0, 1, 1]})
    rollouts[2]["mask_sample"] = True
    rollouts[3]["reward"] = None
    (row,) = collect(candidates(opened(tmp_path, inputs, rollouts), PassRule())).to_dicts()
    assert (row["planned"], row["rollouts"], row["passed"], row["pass_rate"]) == (4, 2, 1, 0.5)


def test_without_options_only_signal_counts(tmp_path: Path) -> None:
    found = select(pool_of(tmp_path), Selection())
    assert chosen(found) == [1, 2, 3, 6]
    assert found.steps.rows() == [("has a score", 8, 1, 7), ("signal: max - min > 0", 7, 3, 4)]
    assert found.control is None
    assert found.misfiled is None


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"keep_no_signal": True}, [0, 1, 2, 3, 4, 6, 7]),
        ({"tolerance": 0.5}, [1, 2, 3]),
        ({"tolerance": 0.499}, [1, 2, 3, 6]),
        ({"pass_rate": Span(0.2, 0.8)}, [1, 2, 3]),
        ({"pass_rate": Span(0.2001, 0.7999)}, [2]),
        ({"pass_rate": Span(0.0, 0.2)}, [1, 6]),
        ({"pass_rate": Span(0.0, 0.0), "keep_no_signal": True}, [0, 6]),
        ({"pass_rate": Span(1.0, 1.0), "keep_no_signal": True}, [4, 7]),
        ({"metrics": (("output_tokens", Span(25, 25)),)}, [2, 6]),
        ({"metrics": (("output_tokens", Span(26, 99)), ("reward", Span(0, 0.2)))}, [1]),
        ({"pass_rule": PassRule(threshold=0.4), "pass_rate": Span(0.5, 0.5)}, [2, 6]),
        ({"pass_rule": PassRule(agents={"a": 0.4}), "pass_rate": Span(0.5, 0.5)}, [2, 6]),
        ({"pairs": True}, [1, 2, 3]),
        ({"pass_rate": Span(2, 3)}, []),
    ],
    ids=str,
)
def test_rules(options: dict[str, Any], wanted: list[int], tmp_path: Path) -> None:
    selection = Selection(**options)
    assert chosen(select(pool_of(tmp_path, selection.pass_rule), selection)) == wanted


def test_confidence(tmp_path: Path) -> None:
    rewards = {0: [1.0, 0, 0, 0], 1: [1.0] * 16 + [0] * 48, 2: [1.0] * 30 + [0] * 34}
    pool = collect(candidates(opened(tmp_path, *rows_of(rewards)), PassRule()))
    naive = Selection(pass_rate=Span(0.15, 0.4))
    assert chosen(select(pool, naive)) == [0, 1]
    found = select(pool, naive.model_copy(update={"confidence": 0.9}))
    assert chosen(found) == [1]
    assert found.misfiled is not None
    assert (found.misfiled["naive"], found.misfiled["unsure"], found.misfiled["overlooked"]) == (2, 1, 0)
    assert found.steps["step"][-1] == "pass rate in 0.15:0.4 with probability 0.9"


def test_a_verdict_must_be_that_of_every_voting_rollout(tmp_path: Path) -> None:
    verdicts = [
        {"_ng_task_index": task, "_ng_rollout_index": index, "verdict": verdict}
        for task, index, verdict in [
            *((1, index, "healthy") for index in range(5)),
            *((2, index, "healthy") for index in range(3)),
            (2, 3, "unhealthy"),
            *((3, index, "healthy") for index in range(4)),
        ]
    ]
    pool = collect(candidates(run_of(tmp_path, verdicts=verdicts), PassRule()))
    assert pool["verdict/healthy"].to_list()[1:4] == [5, 3, 4]
    assert chosen(select(pool, Selection(verdict="healthy"))) == [1]


def test_size_and_control(tmp_path: Path) -> None:
    pool = pool_of(tmp_path)
    found = select(pool, Selection(size=2, control=True, seed=5))
    assert set(chosen(found)) < {1, 2, 3, 6}
    assert found.steps.rows()[-1] == ("size 2", 4, 2, 2)
    assert found.control is not None
    assert len(found.control) == 2
    assert 5 not in found.control["_ng_task_index"]  # it has no score
    assert len(select(pool, Selection(size=99)).chosen) == 4
    seeds = {tuple(chosen(select(pool, Selection(size=2, seed=seed)))) for seed in range(20)}
    assert len(seeds) > 1


def test_balance_with_a_remainder_and_a_missing_field(tmp_path: Path) -> None:
    pool = pool_of(tmp_path)
    keep: dict[str, Any] = {"keep_no_signal": True}
    found = select(pool, Selection(balance="meta.domain", size=3, **keep))
    assert Counter(found.chosen["_sample.meta.domain"]) == {"x": 2, "y": 1}
    assert found.steps.rows()[-2:] == [
        ("has meta.domain", 7, 1, 6),
        ("size 3, balance meta.domain", 6, 3, 3),
    ]
    assert found.short == {}
    assert Counter(select(pool, Selection(balance="meta.domain", **keep)).chosen["_sample.meta.domain"]) == {
        "x": 2,
        "y": 2,
    }
    more = select(pool, Selection(balance="meta.domain", size=7, **keep))
    assert Counter(more.chosen["_sample.meta.domain"]) == {"x": 4, "y": 2}
    assert more.short == {"y": 1}


def test_ratio(tmp_path: Path) -> None:
    pool = pool_of(tmp_path)
    found = select(pool, Selection(ratio="meta.domain=x:0.75,y:0.25", size=4, keep_no_signal=True))
    assert Counter(found.chosen["_sample.meta.domain"]) == {"x": 3, "y": 1}
    only = select(pool, Selection(ratio="meta.domain=y:1", keep_no_signal=True))
    assert chosen(only) == [2, 4]
    assert only.steps.rows()[-2] == ("meta.domain in the ratio", 6, 4, 2)


def test_bands_count_what_is_there_and_what_was_chosen(tmp_path: Path) -> None:
    found = select(pool_of(tmp_path), Selection(balance="meta.domain", size=2))
    assert found.bands.select("field", "value", "band", "candidates").rows() == [
        ("meta.domain", "x", "0", 2),
        ("meta.domain", "x", "0-0.2", 1),
        ("meta.domain", "x", "0.6-0.8", 1),
        ("meta.domain", "y", "0.4-0.6", 1),
        ("meta.domain", "y", "1", 1),
        ("meta.domain", None, "1", 1),
        ("meta.domain", None, "unscored", 1),
    ]
    assert found.bands["chosen"].sum() == 2
    whole = select(pool_of(tmp_path), Selection()).bands
    assert whole.select("value", "band", "candidates", "chosen").rows() == [
        (None, "0", 2, 1),
        (None, "0-0.2", 1, 1),
        (None, "0.4-0.6", 1, 1),
        (None, "0.6-0.8", 1, 1),
        (None, "1", 2, 0),
        (None, "unscored", 1, 0),
    ]


def test_stages(tmp_path: Path) -> None:
    found = select(pool_of(tmp_path), Selection(stages=2, domain="meta.domain"))
    sizes = Counter(found.chosen.select("_sample.meta.domain", "_stage").rows())
    assert sizes == {("x", 1): 2, ("x", 2): 1, ("y", 2): 1}


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_lines_does_not_matter(seed: int, tmp_path: Path) -> None:
    import random

    selection = Selection(
        balance="meta.domain", size=3, keep_no_signal=True, control=True, stages=2, domain="meta.domain"
    )
    samples = {task: {"meta": {"domain": domain}} for task, domain in DOMAINS.items()}
    inputs, rollouts = rows_of(REWARDS, samples)
    shuffled = random.Random(seed)
    shuffled.shuffle(inputs)
    shuffled.shuffle(rollouts)
    (tmp_path / "other").mkdir()
    places = ["_input_line", "_input_offset", "_input_source"]
    there = select(pool_of(tmp_path), selection)
    other = opened(tmp_path / "other", inputs, rollouts, "meta.domain")
    found = select(collect(candidates(other, PassRule())), selection)
    assert found.chosen.drop(places).equals(there.chosen.select(found.chosen.columns).drop(places))
    assert found.control is not None
    assert there.control is not None
    assert found.control.drop(places).equals(there.control.select(found.control.columns).drop(places))
    assert found.bands.equals(there.bands)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"confidence": 0.9}, "--confidence goes with --pass-rate"),
        ({"tolerance": 0.1, "keep_no_signal": True}, "exclude each other"),
        ({"balance": "a", "ratio": "a=b:1"}, "exclude each other"),
        ({"domain": "a"}, "--domain goes with --stages"),
        ({"pairs": True, "control": True}, "--pairs goes with neither"),
        ({"ratio": "a"}, "is no ratio"),
    ],
    ids=str,
)
def test_options_that_do_not_fit(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Selection(**options)


def test_there_is_no_such_metric(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no column 'output_token'") as refused:
        collect(candidates(run_of(tmp_path), PassRule(), "output_token"))
    assert "Did you mean output_tokens" in refused.value.hint
