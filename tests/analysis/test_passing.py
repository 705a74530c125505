"""pass@k, pass^k and avg@k, against all ways to take k rollouts."""

from itertools import combinations, product
from statistics import fmean

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.analysis.passing import doubling, with_passing
from pipeline.frames.lazy import collect

KINDS = [(n, passed) for n in range(1, 9) for passed in range(n + 1)]
KS = range(1, 9)


def figures(kinds: list[tuple[int, int]], ks: range = KS) -> list[dict[str, float | None]]:
    tasks = pl.LazyFrame(
        {"rollouts": [n for n, _ in kinds], "passed": [c for _, c in kinds], "mean_score": [c / n for n, c in kinds]}
    )
    return collect(with_passing(tasks, ks)).to_dicts()


@pytest.mark.parametrize(("kind", "row"), list(zip(KINDS, figures(KINDS), strict=True)), ids=map(str, KINDS))
def test_every_way_to_take_k_of_n(kind: tuple[int, int], row: dict[str, float | None]) -> None:
    n, passed = kind
    rollouts = [1] * passed + [0] * (n - passed)
    for k in KS:
        found = (row[f"pass@{k}"], row[f"pass^{k}"], row[f"avg@{k}"])
        if k > n:
            assert found == (None, None, None)
            continue
        taken = list(combinations(rollouts, k))
        wanted = (fmean(map(any, taken)), fmean(map(all, taken)), fmean(map(fmean, taken)))
        assert found == pytest.approx(wanted, rel=1e-14, abs=1e-15)


@given(st.lists(st.integers(1, 400).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), min_size=1))
def test_one_rollout_passes_as_often_as_all_do_on_average(kinds: list[tuple[int, int]]) -> None:
    for (n, passed), row in zip(kinds, figures(kinds, range(1, 2)), strict=True):
        assert row["pass@1"] == row["pass^1"] == row["avg@1"] == passed / n


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 60), st.data())
def test_more_rollouts_pass_more_and_less(n: int, data: st.DataObject) -> None:
    row = figures([(n, data.draw(st.integers(0, n)))], range(1, n + 1))[0]
    some, every = ([row[f"pass{sign}{k}"] for k in range(1, n + 1)] for sign in "@^")
    assert some == sorted(some, key=float)  # type: ignore[arg-type]
    assert every == sorted(every, key=float, reverse=True)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("largest", "ks"), [(0, ()), (1, (1,)), (2, (1, 2)), (5, (1, 2, 4, 5)), (8, (1, 2, 4, 8)), (9, (1, 2, 4, 8, 9))]
)
def test_k_doubles_up_to_the_largest(largest: int, ks: tuple[int, ...]) -> None:
    assert doubling(largest) == ks


def test_rows_stay_in_their_order() -> None:
    kinds = [kind for kind, _ in product(KINDS, range(3))]
    assert [(row["rollouts"], row["passed"]) for row in figures(kinds)] == kinds
