"""The sign-flip test says what SciPy says, and what looking at every sign says."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.analysis.permutation import MOST_EXACT, sign_flip_test

EIGHTHS = st.integers(-8, 8).map(lambda eighths: eighths / 8)


@given(st.lists(EIGHTHS, max_size=8))
def test_every_sign(differences: list[float]) -> None:
    observed = abs(sum(differences))
    sums = [
        abs(sum(sign * one for sign, one in zip(signs, differences, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    test = sign_flip_test(differences)
    assert test.exact
    assert test.p == pytest.approx(sum(one >= observed - 1e-9 for one in sums) / len(sums), abs=1e-12)


def test_as_scipy_has_it() -> None:
    from scipy.stats import permutation_test

    for seed in range(5):
        differences = np.random.default_rng(seed).normal(0.3, 1, 12)
        theirs = permutation_test((differences,), np.mean, permutation_type="samples", n_resamples=5000)
        assert sign_flip_test(differences.tolist()).p == pytest.approx(theirs.pvalue, abs=1e-12)


@pytest.mark.parametrize("few_sizes", [True, False])
def test_random_signs_come_close_to_scipys(few_sizes: bool) -> None:
    from scipy.stats import permutation_test

    drawn = np.random.default_rng(1).normal(0.1, 0.5, 200)
    differences = np.round(drawn * 4) / 4 if few_sizes else drawn
    theirs = permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=20_000, rng=3, vectorized=True
    )
    mine = sign_flip_test(differences.tolist())
    assert not mine.exact
    assert mine.draws == 9999
    assert mine.p == pytest.approx(theirs.pvalue, abs=0.01)


def test_the_seed_says_it_all() -> None:
    differences = np.random.default_rng(2).normal(0.05, 1, 300).tolist()
    assert sign_flip_test(differences, seed=4) == sign_flip_test(differences, seed=4)
    assert sign_flip_test(differences, seed=4) != sign_flip_test(differences, seed=5)


@pytest.mark.parametrize("differences", [[], [0.0], [0.0] * 50])
def test_nothing_differs(differences: list[float]) -> None:
    assert sign_flip_test(differences) == (1.0, 1, True)


def test_a_sum_of_nothing_but_rounding_is_no_lean() -> None:
    differences = [0.5, -0.5, 0.1, 0.1, 0.1, -0.3]
    assert sum(differences) != 0
    assert sign_flip_test(differences).p == 1.0


def test_never_zero() -> None:
    assert sign_flip_test([1.0] * MOST_EXACT).p == 2 / 2**MOST_EXACT
    assert sign_flip_test([1.0] * 500).p == 1 / 10_000
    assert sign_flip_test([-1.0] * 500).p == 1 / 10_000


def test_many_tasks_are_quick() -> None:
    differences = np.random.default_rng(0).normal(0, 1, 60_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        test = sign_flip_test((differences + 0.02).tolist())
    assert (test.draws, test.p < 0.05) == (2000, True)
