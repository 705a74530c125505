"""Tasks to distrust, by hand."""

import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipeline.analysis.scoring import PassRule
from pipeline.analysis.suspects.all_reasons import Bounds, suspects
from pipeline.analysis.suspects.answering import agreement_chance
from pipeline.frames.lazy import collect
from tests.queries.asking import opened, rollout
from tests.runs import Row, planned

RULE = PassRule()


def of_task(task: int, *given: tuple[Any, float | None], agent: str = "a") -> list[Row]:
    """Rollouts of a task with these answers and rewards; no field where there is no answer."""
    return [
        rollout(task, repeat, reward, agent=agent, **({} if answer is None else {"extracted_answer": answer}))
        for repeat, (answer, reward) in enumerate(given)
    ]


def found(folder: Path, rows: list[Row], *, inputs: list[Row] | None = None, **options: Any) -> list[Row]:
    plan = inputs or [
        planned(row["_ng_task_index"], row["_ng_rollout_index"], row["agent_ref"]["name"], n=row["_ng_task_index"])
        for row in rows
    ]
    return collect(suspects(opened(folder, rows, inputs=plan), RULE, **options)).to_dicts()


def told(rows: list[Row], *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in columns) for row in rows]


def test_all_fail_with_one_answer(tmp_path: Path) -> None:
    rows = [
        *of_task(0, ("B", 0), ("B", 0), ("C", 0), ("B", 0), ("B", 0), ("B", 0.5)),  # 5 of 6
        *of_task(1, ("B", 0), ("B", 0), ("B", 0), ("B", 1)),  # one passes
        *of_task(2, ("B", 0), ("B", 0), ("B", 0)),  # too few
        *of_task(3, ("B", 0), ("C", 0), ("D", 0), ("E", 0), ("B", 0)),  # nothing dominates
        *of_task(4, ("7", 0), (7, 0), (" 7 ", 0), (7.0, 0)),  # a number and its text
        *of_task(5, (None, 0), ("", 0), ("  ", 0), ("B", 0), ("B", 0), (None, 0)),  # no answer is no answer
    ]
    wrong = found(tmp_path, rows, reasons=["wrong_key"])
    columns = ("_ng_task_index", "answer", "count", "of", "passed", "max_score")
    assert told(wrong, *columns) == [(4, "7", 4, 4, 0, 0.0), (0, "B", 5, 6, 0, 0.5)]
    assert wrong[1]["share"] == pytest.approx(5 / 6)
    assert wrong[1]["evidence"] == ["0:0", "0:1", "0:3", "0:4", "0:5"]
    # 3 · (6 · (1/3)^5 · 2/3 + (1/3)^6) = 39/729, and 3 · (1/3)^4
    assert [row["chance"] for row in wrong] == [pytest.approx(3 / 81), pytest.approx(39 / 729)]


def test_bounds(tmp_path: Path) -> None:
    rows = [
        *of_task(0, ("B", 0), ("B", 0), ("B", 0)),
        *of_task(1, ("B", 0), ("B", 0), ("B", 0), ("C", 0)),  # chance 1/3
        *of_task(2, *[("B", 0)] * 6, ("C", 0), (None, 0)),  # 6 of 8
    ]

    def tasks(**bounds: Any) -> list[int]:
        rows_found = found(tmp_path, rows, reasons=["wrong_key"], bounds=Bounds(**bounds))
        return sorted(row["_ng_task_index"] for row in rows_found)

    assert tasks() == [2]
    assert tasks(max_chance=1) == [1, 2]
    assert tasks(max_chance=1, min_rollouts=3) == [0, 1, 2]
    assert tasks(max_chance=1, min_rollouts=3, min_share=0.76) == [0]
    assert tasks(min_rollouts=9) == []


def test_of_answers_as_frequent_the_first_by_letter(tmp_path: Path) -> None:
    rows = of_task(0, ("C", 0), ("B", 0), ("C", 0), ("B", 0))
    (row,) = found(tmp_path, rows, reasons=["wrong_key"], bounds=Bounds(max_chance=1))
    assert (row["answer"], row["count"]) == ("B", 2)


def test_masked_and_unscored_rollouts_say_nothing(tmp_path: Path) -> None:
    rows = [
        *of_task(0, *[("B", 0)] * 4, ("A", None)),
        {**rollout(0, 9, 1.0, extracted_answer="B"), "mask_sample": True},
    ]
    (row,) = found(tmp_path, rows)
    assert (row["reason"], row["count"], row["of"]) == ("wrong_key", 4, 4)


def test_the_same_answer_with_other_scores(tmp_path: Path) -> None:
    rows = [
        *of_task(0, ("B", 1), ("B", 0), ("C", 0), ("B", 1)),
        *of_task(1, ("B", 1), ("C", 0)),
        *of_task(2, ("x", 0.5), ("x", 0.75), ("y", 1), ("y", 0)),
        *of_task(3, (None, 1), (None, 0)),
        *of_task(4, ("B", 1), agent="a"),
        *(row | {"_ng_rollout_index": 5} for row in of_task(4, ("B", 0), agent="b")),  # another agent
    ]
    flaky = found(tmp_path, rows, reasons=["flaky_verifier"])
    columns = ("_ng_task_index", "answer", "count", "of", "passed", "min_score", "max_score")
    assert told(flaky, *columns) == [
        (0, "B", 3, 4, 2, 0.0, 1.0),
        (2, "x", 2, 4, 0, 0.5, 0.75),
        (2, "y", 2, 4, 1, 0.0, 1.0),
    ]
    assert flaky[0]["evidence"] == ["0:0", "0:1", "0:3"]
    tolerant = found(tmp_path, rows, reasons=["flaky_verifier"], bounds=Bounds(tolerance=0.25))
    assert told(tolerant, "_ng_task_index", "answer") == [(0, "B"), (2, "y")]


def test_the_same_prompt_under_several_indices(tmp_path: Path) -> None:
    def row(task: int, prompt: str, key: str, temperature: float = 1.0) -> Row:
        return planned(task, 0, responses_create_params={"input": prompt, "temperature": temperature}, key=key)

    inputs = [row(0, "x", "1"), row(1, "y", "1"), row(2, "x", "1", 0.5), row(5, "x", "2"), row(6, "z", "1")]
    twins = found(tmp_path, [rollout(0, 0, 1.0)], inputs=inputs)
    columns = ("_ng_task_index", "_agent", "reason", "count", "of", "evidence")
    assert told(twins, *columns) == [
        (0, None, "same_task", 3, 5, ["0", "2", "5"]),
        (2, None, "same_task", 3, 5, ["0", "2", "5"]),
        (5, None, "same_prompt", 3, 5, ["0", "2", "5"]),
    ]


def test_a_dump_without_inputs_shows_prompts(tmp_path: Path) -> None:
    rows = [rollout(task, 0, 1.0, responses_create_params={"input": "x" * (task < 2)}) for task in range(3)]
    twins = collect(suspects(opened(tmp_path, rows), RULE)).to_dicts()
    assert told(twins, "_ng_task_index", "reason") == [(0, "same_prompt"), (1, "same_prompt")]


def test_evidence_is_cut_off_and_counts_are_not(tmp_path: Path) -> None:
    (row,) = found(tmp_path, of_task(3, *[("B", 0)] * 12))
    assert (row["count"], row["evidence"]) == (12, [f"3:{repeat}" for repeat in range(10)])


@pytest.mark.parametrize(
    "rows", [[], [rollout(0, 0, None), rollout(1, 0, 1.0)], of_task(0, (None, 0.0))], ids=["none", "unscored", "silent"]
)
def test_nothing_to_distrust(rows: list[Row], tmp_path: Path) -> None:
    frame = collect(suspects(opened(tmp_path, rows), RULE))
    assert frame.is_empty()
    assert frame.schema["evidence"] == pl.List(pl.String)


def test_the_chance_that_so_many_agree() -> None:
    counts = [(count, of) for of in range(1, 13) for count in range(1, of + 1)]
    frame = pl.DataFrame(counts, schema={"count": pl.UInt32, "of": pl.UInt32}, orient="row")
    chances = frame.select(agreement_chance(pl.col("count"), pl.col("of"))).to_series().to_list()
    assert chances == [
        pytest.approx(min(1, 3 * sum(math.comb(of, k) * 2 ** (of - k) for k in range(count, of + 1)) / 3**of))
        for count, of in counts
    ]
