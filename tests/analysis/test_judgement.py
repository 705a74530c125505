"""A verdict follows from the change, its interval and the sign-flip test, under the rule that is printed."""

import math

import pytest

from pipeline.analysis.judgement import Change, change_of, fall_of, smallest_effect, verdict_of
from pipeline.analysis.permutation import SignFlip

SURE, UNSURE = SignFlip(0.01, 99, exact=False), SignFlip(0.2, 99, exact=False)


@pytest.mark.parametrize(
    ("change", "test", "verdict"),
    [
        (Change(20, 0.1, 0.02, 0.05, 0.15), SURE, "better"),
        (Change(20, -0.1, 0.02, -0.15, -0.05), SURE, "worse"),
        (Change(20, 0.1, 0.06, -0.02, 0.22), SURE, "no difference found"),
        (Change(20, 0.1, 0.02, 0.05, 0.15), UNSURE, "no difference found"),
        (Change(20, 0.0, 0.0), UNSURE, "no difference found"),
        (Change(20, -0.5, 0.0), SURE, "worse"),
        (Change(5, 0.5, 0.02, 0.4, 0.6), SURE, "too little data"),
        (Change(1, 0.5), SURE, "too little data"),
        (Change(0), None, "too little data"),
    ],
)
def test_verdicts(change: Change, test: SignFlip | None, verdict: str) -> None:
    assert verdict_of(change, test) == verdict


def test_the_smallest_effect() -> None:
    """2.0930 and 0.8610 are the quantiles of t(19) in printed tables."""
    found = smallest_effect(Change(20, 0.1, 0.5, -1, 1))
    assert found is not None
    assert math.isclose(found, (2.0930 + 0.8610) * 0.5, rel_tol=1e-4)
    assert smallest_effect(Change(20, 0.0, 0.0)) is None
    assert smallest_effect(Change(1, 0.1)) is None


def test_the_fall() -> None:
    change = Change(20, -0.1, 0.02, -0.15, -0.05)
    assert (fall_of(change, by_estimate=False), fall_of(change, by_estimate=True)) == (0.05, 0.1)
    assert fall_of(Change(9, -0.25, 0.0), by_estimate=False) == 0.25
    assert fall_of(Change(0), by_estimate=True) is None
    assert change_of(None) == Change(0)
