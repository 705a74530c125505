"""Which tasks get their repeats under a budget, by hand."""

import itertools
from collections.abc import Sequence

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.analysis.budget import within_budget

SCHEMA = {
    "_ng_task_index": pl.Int64,
    "_agent": pl.String,
    "more": pl.Int64,
    "tokens": pl.Int64,
    "settled": pl.Boolean,
    "pending_tokens": pl.Int64,
}
GROUPS = [
    (0, "a", 2, 100, True, 0),
    (1, "a", 1, 40, True, 30),
    (2, "a", 9, 10, False, 0),
    (2, "b", 3, 40, True, 0),
    (3, "a", 0, 0, True, 20),
    (4, "a", 5, 60, False, 0),
]


def chosen(groups: Sequence[tuple[int, str, int, int | None, bool, int]], budget: int | None) -> list[tuple[int, str]]:
    """The groups that get their repeats."""
    frame = within_budget(pl.LazyFrame(groups, schema=SCHEMA, orient="row"), budget).collect()
    assert frame.select("_ng_task_index", "_agent").rows() == sorted((task, agent) for task, agent, *_ in groups)
    return frame.filter("chosen").select("_ng_task_index", "_agent").rows()


@pytest.mark.parametrize(
    ("budget", "wanted"),
    [
        (None, [(0, "a"), (1, "a"), (2, "a"), (2, "b"), (4, "a")]),
        (0, []),
        (59, []),  # 50 for what is planned already, and 9 are left
        (89, [(2, "a")]),
        (90, [(1, "a")]),
        (99, [(1, "a")]),  # the task that stays open costs 10, and 9 are left
        (100, [(1, "a"), (2, "a")]),
        (130, [(1, "a"), (2, "b")]),  # of the same cost the first task comes first
        (140, [(1, "a"), (2, "a"), (2, "b")]),
        (230, [(0, "a"), (1, "a"), (2, "b")]),
        (240, [(0, "a"), (1, "a"), (2, "a"), (2, "b")]),
        (300, [(0, "a"), (1, "a"), (2, "a"), (2, "b"), (4, "a")]),
    ],
)
def test_settled_first_then_cheapest(budget: int | None, wanted: list[tuple[int, str]]) -> None:
    assert chosen(GROUPS, budget) == wanted
    assert chosen(GROUPS[::-1], budget) == wanted


def test_a_cost_that_is_not_known_is_not_paid() -> None:
    assert chosen([(0, "a", 2, None, True, 0), (1, "a", 2, 5, True, 0)], 100) == [(1, "a")]


@settings(deadline=None)
@given(
    costs=st.lists(st.tuples(st.integers(0, 30), st.booleans()), max_size=7),
    pending=st.integers(0, 20),
    budget=st.integers(0, 120),
)
def test_no_other_choice_settles_more(costs: list[tuple[int, bool]], pending: int, budget: int) -> None:
    groups = [(task, "a", 1, cost, settled, pending if task == 0 else 0) for task, (cost, settled) in enumerate(costs)]
    taken = [task for task, _ in chosen(groups, budget)]
    left = budget - (pending if costs else 0)
    assert sum(costs[task][0] for task in taken) <= max(left, 0)
    of_choices = [
        sum(costs[task][1] for task in choice)
        for size in range(len(costs) + 1)
        for choice in itertools.combinations(range(len(costs)), size)
        if sum(costs[task][0] for task in choice) <= left
    ]
    assert sum(costs[task][1] for task in taken) == max(of_choices, default=0)
