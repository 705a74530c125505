"""What is there of what was planned, and the mean score if the rest were."""

from typing import Any

import polars as pl
import pytest

from pipeline.analysis.missing import completeness, mean_bounds, without_score
from pipeline.frames.lazy import collect

FIELDS = ("_ng_task_index", "_ng_rollout_index", "_agent", "_finished", "_measured", "_scored", "_score")
ROWS = [
    (0, 0, "a", True, True, True, 1.0),
    (0, 1, "a", True, True, True, -0.5),
    (0, 2, "a", False, False, False, None),
    (1, 0, "a", True, False, True, 1.0),
    (1, 1, "a", True, True, False, None),
    (1, 2, "a", False, False, False, None),
    (2, 0, "b", False, False, False, None),
]
PLANNED = pl.LazyFrame(ROWS, schema=FIELDS, orient="row", infer_schema_length=None)
FAILURES = pl.LazyFrame(
    [(0, 2, "timeout", 0, 1, None), (0, 2, "judge_failed", 0, 2, None), (0, 0, "timeout", 0, 3, None)],
    schema=["_ng_task_index", "_ng_rollout_index", "_failure_class", "_file", "_line", "_problem"],
    schema_overrides={"_problem": pl.String},
    orient="row",
)
BY = ["_agent"]


def bounds() -> dict[tuple[Any, ...], tuple[Any, ...]]:
    votes = PLANNED.filter("_measured", "_scored")
    found = mean_bounds(completeness(PLANNED, BY), without_score(PLANNED, FAILURES, BY), votes, BY)
    rows = collect(found).to_dicts()
    return {
        (row["_agent"], row["failure_class"], row["figure"]): (row["value"], row["tasks"], row["rollouts"])
        for row in rows
    }


def test_counts() -> None:
    names = ("tasks", "planned", "finished", "missing", "masked", "unscored", "scored", "scored_tasks")
    found = collect(completeness(PLANNED, BY)).select("_agent", *names).rows()
    assert found == [("a", 2, 6, 4, 2, 1, 1, 2, 1), ("b", 1, 1, 0, 1, 0, 0, 0, 0)]


def test_what_became_of_the_rest() -> None:
    found = sorted(collect(without_score(PLANNED, FAILURES, BY)).select("_agent", "failure_class", "rollouts").rows())
    assert found == [
        ("a", "(masked)", 1),
        ("a", "(unscored)", 1),
        ("a", "judge_failed", 1),
        ("a", "unknown", 1),
        ("b", "unknown", 1),
    ]


def test_bounds() -> None:
    """Best is 1, worst -0.5, over two scores and four without."""
    found = bounds()
    assert found["a", None, "if dropped"] == (0.25, 1, 2)
    assert found["a", None, "if zero"] == (pytest.approx(0.5 / 6), 2, 6)
    assert found["a", None, "if best"] == (pytest.approx(4.5 / 6), 2, 6)
    assert found["a", None, "if worst"] == (pytest.approx(-1.5 / 6), 2, 6)
    assert found["a", "judge_failed", "if zero"] == (pytest.approx(0.5 / 3), 2, 3)
    assert found["b", None, "if dropped"] == (None, 0, 0)
    assert found["b", None, "if best"] == (1.0, 1, 1)
    assert len(found) == 4 * (5 + 2)
