"""The statistics of whole runs."""

import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipeline.analysis.intervals import BOOTSTRAP, CLUSTERED, REPEATS
from pipeline.analysis.scoring import PassRule
from pipeline.analysis.statistics import FIGURES, StatsOptions, statistics
from pipeline.errors import UsageError
from pipeline.frames.lazy import collect
from tests.queries.asking import SEEDS, grouped, mean, opened, rewards, rollout, some_rollouts, voting
from tests.runs import Row, plan_of

C14 = {0: [0.0, 0.5, 1.0, 2.0], 1: [-1.0, 0.25, 0.99, 1.0]}
QUICK = StatsOptions(draws=50)


def table(folder: Path, rows: list[Row], rule: PassRule | None = None, **options: Any) -> pl.DataFrame:
    run = opened(folder, rows, inputs=options.pop("inputs", None), failures=options.pop("failures", None))
    return collect(statistics(run, rule or PassRule(), QUICK.model_copy(update=options)))


def value(found: pl.DataFrame, figure: str, k: int | None = None, **where: Any) -> Any:
    same = found.filter(figure=figure, **{"interval": CLUSTERED, **where}).filter(
        pl.col("k").eq_missing(pl.lit(k, pl.Int64))
    )
    assert len(same) == 1, same
    return same["value"].item()


@pytest.mark.parametrize(("threshold", "rates"), [(1.0, (0.5, 0.25)), (0.01, (0.75, 0.75))])
def test_partial_credit(threshold: float, rates: tuple[float, float], tmp_path: Path) -> None:
    rows = [rollout(task, i, reward) for task, some in C14.items() for i, reward in enumerate(some)]
    found = table(tmp_path, rows, PassRule(threshold=threshold))
    assert value(found, "pass rate") == value(found, "pass@k", 1) == value(found, "pass^k", 1) == sum(rates) / 2
    assert value(found, "mean score") == pytest.approx((0.875 + 0.31) / 2)
    assert value(found, "pass@k", 4) == 1.0
    assert value(found, "pass^k", 4) == 0.0
    assert set(found.filter(part="passing")["pass_rule"]) == {f"reward >= {threshold:g}", "reward"}


@pytest.mark.parametrize("seed", SEEDS)
def test_who_has_a_value(seed: int, tmp_path: Path) -> None:
    rows = some_rollouts(seed)
    found = table(tmp_path, rows, PassRule(threshold=0.4), by=("row.topic",))
    for agent, own in grouped(voting(rows), by="agent").items():
        tasks = {key: rewards(group) for key, group in grouped(own).items()}
        assert value(found, "mean score", scope="agent", _agent=agent) == pytest.approx(mean(rewards(own)))
        for k in (1, 2, 4):
            large = [scores for scores in tasks.values() if len(scores) >= k]
            row = found.filter(scope="agent", _agent=agent, figure="avg@k", k=k, interval=CLUSTERED).to_dicts()[0]
            assert row["value"] == (pytest.approx(mean([mean(s) for s in large])) if large else None)  # type: ignore[misc]
            assert (row["tasks"], row["rollouts"]) == (len(large), sum(map(len, large)))
    pooled = voting(rows)
    assert value(found, "mean score", scope="all") == pytest.approx(mean(rewards(pooled)))
    for topic, own in grouped(pooled, by="topic").items():
        cells = found.filter(pl.col("_row.topic") == topic, scope="group", figure="mean score", interval=CLUSTERED)
        assert cells["rollouts"].sum() == len(own)


def test_completeness_comes_first_and_adds_up(tmp_path: Path) -> None:
    rows = [rollout(0, 0, 1.0), rollout(0, 1, None), rollout(1, 0, 0.0, mask_sample=True)]
    plan = plan_of([*rows, rollout(1, 1, None), rollout(2, 0, None)])
    failed = {"_ng_task_index": 1, "_ng_rollout_index": 1, "_ng_failure_class": "timeout"}
    found = table(tmp_path, rows, inputs=plan, failures=[failed])
    counts = found.filter(part="completeness").select("figure", "failure_class", "value", "tasks", "rollouts")
    assert found["part"][0] == "completeness"
    assert counts.rows() == [
        *(
            (name, None, number, 3, 5)
            for name, number in zip(
                ("planned", "finished", "missing", "masked", "unscored", "scored"),
                (5.0, 3.0, 2.0, 1.0, 1.0, 1.0),
                strict=True,
            )
        ),
        *(("without score", kind, 1.0, 3, 5) for kind in ("(masked)", "(unscored)", "timeout", "unknown")),
    ]
    bounds = found.filter(pl.col("failure_class").is_null(), part="missing")
    assert dict(bounds.select("figure", "value").rows()) == {
        "if dropped": 1.0,
        "if zero": 0.2,
        "if best": 1.0,
        "if worst": 0.2,
    }


EDGES: dict[str, list[Row]] = {
    "one task": [rollout(0, i, float(i % 2)) for i in range(3)],
    "one repeat": [rollout(task, 0, float(task % 2)) for task in range(3)],
    "one rollout": [rollout(0, 0, 1.0)],
    "no variance": [rollout(task, i, 0.1) for task in range(3) for i in range(2)],
    "nothing scored": [rollout(0, 0, None), rollout(1, 0, 1.0, mask_sample=True)],
    "all masked": [rollout(0, 0, 1.0, mask_sample=True), rollout(1, 0, 0.0, mask_sample=True)],
    "one agent masked": [rollout(0, 0, 1.0, mask_sample=True), rollout(1, 0, 0.0, agent="b")],
    "huge": [rollout(task, i, 1e300 * (task - 1)) for task in range(3) for i in range(2)],
    "beyond doubles": [rollout(task, i, 1.7e308 * (task - 1)) for task in range(3) for i in range(2)],
    "none": [],
}


@pytest.mark.parametrize("rows", EDGES.values(), ids=EDGES)
def test_a_number_or_a_reason(rows: list[Row], tmp_path: Path) -> None:
    found = table(tmp_path, rows, by=("_truncated",), inputs=plan_of(rows) or None) if rows else table(tmp_path, rows)
    assert not any(
        found[name].is_nan().any() or found[name].is_infinite().any() for name in ("value", "se", "low", "high")
    )
    assert found.filter(pl.col("value").is_null() & pl.col("note").is_null()).is_empty()
    assert found.filter(
        pl.col("interval").is_not_null() & pl.col("low").is_null() & pl.col("note").is_null()
    ).is_empty()
    for row in found.iter_rows(named=True):
        assert row["low"] is None or row["low"] <= row["value"] <= row["high"]


def test_notes(tmp_path: Path) -> None:
    def notes(name: str, **where: Any) -> set[str | None]:
        return set(table(tmp_path, EDGES[name]).filter(**where)["note"])

    assert notes("one task", interval=CLUSTERED, part="means") == {"one task"}
    assert notes("one task", interval=BOOTSTRAP, figure="pass@k") == {"one task"}
    assert notes("one repeat", interval=REPEATS) == {"one repeat"}
    assert notes("one repeat", figure="mixed", interval=CLUSTERED) == {"no task has 2 rollouts with a score"}
    assert notes("no variance", interval=CLUSTERED, part="means") == {"no task differs"}
    assert notes("no variance", interval=REPEATS) == {"no repeat differs"}
    assert notes("no variance", part="majority") == {"no rollout has an answer in extracted_answer"}


def test_the_same_whatever_the_order_of_lines(tmp_path: Path) -> None:
    rows = some_rollouts(1)
    mixed = random.Random(3).sample(rows, len(rows))
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert table(tmp_path / "a", rows, by=("row.topic",)).equals(table(tmp_path / "b", mixed, by=("row.topic",)))


def test_columns(tmp_path: Path) -> None:
    found = table(tmp_path, some_rollouts(0), by=("row.topic", "_agent"))
    assert found.columns == ["scope", "_agent", "_row.topic", *FIGURES]
    assert {name: found.schema[name] for name in FIGURES} == FIGURES
    assert found["scope"].unique(maintain_order=True).to_list() == ["all", "agent", "group"]
    assert found.filter(scope="all")["_agent"].null_count() == found.filter(scope="all").height


def test_refusals(tmp_path: Path) -> None:
    rows = [rollout(0, 0, 1.0, tasks=3)]
    with pytest.raises(UsageError, match="there is no column 'reward'"):
        table(tmp_path, [rollout(0, 0, None, score=1)])
    for options in ({"by": ("absent",)}, {"answer_field": "absent"}, {"by": ("tasks",)}):
        with pytest.raises(UsageError):
            table(tmp_path, rows, **options)
    with pytest.raises(UsageError, match="group-size"):
        StatsOptions(group_sizes=(1,))
