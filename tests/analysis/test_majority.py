"""The answers of rollouts, and the figures on them."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipeline.analysis import elections
from pipeline.analysis.majority import answers, with_majority
from pipeline.analysis.tasks import by_task
from pipeline.frames.lazy import collect
from pipeline.options import ProfileOptions
from pipeline.run import open_run
from tests.analysis.voting import votes_of
from tests.queries.asking import opened, rollout
from tests.runs import jsonl


def answers_of(folder: Path, values: list[Any], *, field: str = "extracted_answer") -> list[str | None] | None:
    rows = [rollout(0, place, 1.0, **({} if value is ... else {field: value})) for place, value in enumerate(values)]
    rollouts = opened(folder, rows).rollouts
    found = answers(rollouts, field)
    return None if found is None else collect(rollouts.select(a=found))["a"].to_list()


def test_texts_and_numbers(tmp_path: Path) -> None:
    values = ["5", 5, 5.0, " 5 ", "", "  ", None, ..., 0.5, "B", -3, 2**53 + 1]
    wanted = ["5", "5", "5", "5", None, None, None, None, "0.5", "B", "-3"]
    found = answers_of(tmp_path, values)
    assert found is not None
    assert found[:-1] == wanted


def test_whole_numbers_alone_are_exact(tmp_path: Path) -> None:
    assert answers_of(tmp_path, [2**53, 2**53 + 1]) == [str(2**53), str(2**53 + 1)]


def test_no_such_field(tmp_path: Path) -> None:
    assert answers_of(tmp_path, [..., ...]) is None


def test_a_field_that_was_asked_for(tmp_path: Path) -> None:
    long = "x" * 500
    rows = [rollout(0, place, 1.0, meta={"a": value}) for place, value in enumerate([long, long, 7, True])]
    (tmp_path / "r.jsonl").write_bytes(jsonl(rows))
    options = ProfileOptions(partial=True, context=True, fields=("said=row.meta.a",))
    rollouts = open_run(tmp_path / "r.jsonl", options=options).rollouts
    found = answers(rollouts, "said")
    assert found is not None
    texts = collect(rollouts.select(a=found))["a"].to_list()
    assert texts[0] == texts[1] == long
    assert len(set(texts)) == 3


def figures(said: list[str | None], passed: list[int], ks: tuple[int, ...]) -> dict[str, Any]:
    votes = votes_of([passed]).with_columns(_answer=pl.Series(said, dtype=pl.String))
    tasks = by_task(votes, ["_agent"])
    (row,) = collect(with_majority(tasks, votes, ["_agent", "_ng_task_index"], ks)).to_dicts()
    return row


def test_figures() -> None:
    row = figures(["A", "A", "B", None], [1, 1, 0, 0], (1, 2, 4, 8))
    assert row["answered"] == 3
    assert row["majority@1"] == row["majority@4"] / 2 == 0.5
    assert row["majority@2"] == pytest.approx((1 + 1 + 1 + 0.5 + 0.5 + 0) / 6)
    assert (row["no-answer@1"], row["no-answer@2"], row["no-answer@8"], row["majority@8"]) == (0.25, 0.0, None, None)


def test_draws_start_from_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elections, "EXACT_UP_TO", 0)
    votes = votes_of([[1, 1, 0, 0, 1, 0]]).with_columns(_answer=pl.Series(list("AABBCC")))
    tasks, keys = by_task(votes, ["_agent"]), ["_agent", "_ng_task_index"]
    shares = [collect(with_majority(tasks, votes, keys, [3], seed=seed))["majority@3"].item() for seed in (0, 0, 1)]
    assert shares[0] == shares[1] != shares[2]


def test_nobody_answers() -> None:
    row = figures([None, None], [1, 0], (1, 2))
    assert (row["answered"], row["majority@2"], row["no-answer@2"]) == (0, 0.0, 1.0)
