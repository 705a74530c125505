"""Groups with something to learn, and the posterior that foretells them."""

from math import comb, exp, lgamma

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.analysis.posterior import jeffreys, mixed_share
from pipeline.analysis.signal import with_signal
from pipeline.frames.lazy import collect
from tests.analysis.voting import tasks_of


def beta(a: float, b: float) -> float:
    return exp(lgamma(a) + lgamma(b) - lgamma(a + b))


def beta_binomial(passing: int, size: int, a: float, b: float) -> float:
    """The chance that this many of so many rollouts pass, if the pass rate has a Beta(a, b) distribution."""
    return comb(size, passing) * beta(a + passing, b + size - passing) / beta(a, b)


@given(st.integers(1, 40), st.data(), st.integers(2, 12))
def test_mixed_groups_are_the_middle_of_a_beta_binomial(n: int, data: st.DataObject, size: int) -> None:
    passed = data.draw(st.integers(0, n))
    row = pl.DataFrame({"n": [n], "c": [passed]}).select(**jeffreys(pl.col("n"), pl.col("c")))
    assert row.rows() == [(passed + 0.5, n - passed + 0.5)]
    (share,) = row.select(mixed_share(pl.col("alpha"), pl.col("beta"), size=size)).row(0)
    wanted = sum(beta_binomial(j, size, passed + 0.5, n - passed + 0.5) for j in range(1, size))
    assert share == pytest.approx(wanted, abs=1e-10)


def test_by_hand() -> None:
    """Beta(½, ½), two rollouts: 2 · E[p (1 - p)] = 2 · (½ · ½) / (1 · 2) = ¼."""
    found = pl.DataFrame({"a": [0.5]}).select(mixed_share(pl.col("a"), pl.col("a"), size=2)).item()
    assert found == pytest.approx(0.25)


def test_groups_now() -> None:
    tasks = collect(with_signal(tasks_of([[1, 1], [0, 1], [0, 0.5], [1]]), [4])).to_dicts()
    assert [row["mixed"] for row in tasks] == [0.0, 1.0, 0.0, None]
    assert [row["different scores"] for row in tasks] == [0.0, 1.0, 1.0, None]
    assert all(0 < row["mixed@4"] < 1 for row in tasks)
