"""How many more rollouts a task needs, against slow plain Python and values by hand."""

import math
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from pipeline.analysis.bands import Span
from pipeline.analysis.repeats_needed import Target, repeats_needed
from pipeline.errors import UsageError
from tests.analysis.plain_beta import cumulative, quantile
from tests.runs import Row

BAND = Span(0.2, 0.8)


def needs(counts: list[tuple[int, int]], target: Target) -> list[Row]:
    """What groups with these (passed, rollouts) need."""
    schema = {"passed": pl.UInt32, "rollouts": pl.UInt32}
    return repeats_needed(pl.LazyFrame(counts, schema=schema, orient="row"), target).collect().to_dicts()


def need(passed: int, rollouts: int, target: Target) -> Row:
    (row,) = needs([(passed, rollouts)], target)
    return row


def test_nothing_is_known_of_a_task_without_rollouts() -> None:
    # Beta(½, ½) is the arcsine distribution.
    row = need(0, 0, Target(band=BAND))
    assert row["in_band"] == pytest.approx(2 / math.pi * (math.asin(math.sqrt(0.8)) - math.asin(math.sqrt(0.2))))
    # Its quantile of 0.05 is sin²(0.05 · π / 2).
    assert row["half_width"] == pytest.approx(0.5 - math.sin(0.05 * math.pi / 2) ** 2)


def test_one_of_four_is_not_sixteen_of_sixty_four() -> None:
    few, many = needs([(1, 4), (16, 64)], Target(band=Span(0.15, 0.35)))
    assert (few["reason"], many["reason"]) == ("straddles", None)
    assert (few["needed"] > 0, many["needed"], many["settled"]) == (True, 0, True)


def plain_met(a: float, b: float, target: Target) -> bool:
    inside = cumulative(a, b, BAND.high) - cumulative(a, b, BAND.low)
    in_or_out = target.band is None or max(inside, 1 - inside) >= target.confidence
    tail = (1 - target.confidence) / 2
    if target.half_width is None or not in_or_out:
        return in_or_out
    return (quantile(a, b, 1 - tail) - quantile(a, b, tail)) / 2 <= target.half_width


def plain_needed(passed: int, rollouts: int, target: Target) -> tuple[int, bool]:
    """The least number of rollouts that does, tried one after another."""
    a, b = passed + 0.5, rollouts - passed + 0.5
    for more in range(target.max_repeats + 1):
        if plain_met(a + more * a / (a + b), b + more * b / (a + b), target):
            return more, True
    return target.max_repeats, False


@pytest.mark.parametrize(
    "target",
    [
        Target(band=BAND, max_repeats=20),
        Target(band=BAND, confidence=0.8, max_repeats=12),
        Target(half_width=0.2, max_repeats=16),
        Target(band=BAND, half_width=0.25, max_repeats=8),
    ],
    ids=str,
)
def test_the_least_number_that_does(target: Target) -> None:
    counts = [(passed, rollouts) for rollouts in (0, 3, 8) for passed in range(rollouts + 1)]
    found = [(row["needed"], row["settled"]) for row in needs(counts, target)]
    assert found == [plain_needed(*pair, target) for pair in counts]


def test_both_targets_have_their_own_reason() -> None:
    both = Target(band=BAND, half_width=0.1)
    rows = needs([(1, 4), (8, 8), (50, 100), (0, 400)], both)
    assert [row["reason"] for row in rows] == ["straddles, wide", "wide", None, None]
    band, width = (need(1, 4, target)["needed"] for target in (Target(band=BAND), Target(half_width=0.1)))
    assert rows[0]["needed"] == max(band, width)


def test_a_rate_at_the_end_of_the_band_stays_open() -> None:
    row = need(20, 100, Target(band=Span(0.2029, 0.8), max_repeats=200))
    assert (row["needed"], row["settled"], row["reason"]) == (200, False, "straddles")


def test_without_a_target_nothing_is_needed() -> None:
    row = need(1, 4, Target())
    assert (row["needed"], row["settled"], row["reason"], row["in_band"]) == (0, True, None, None)


def test_no_groups() -> None:
    assert needs([], Target(band=BAND)) == []


@settings(deadline=None)
@given(rollouts=st.integers(0, 40), data=st.data(), limit=st.integers(1, 150))
def test_a_lower_limit_only_cuts_off(rollouts: int, data: st.DataObject, limit: int) -> None:
    passed = data.draw(st.integers(0, rollouts))
    whole = need(passed, rollouts, Target(band=BAND, max_repeats=150))
    cut = need(passed, rollouts, Target(band=BAND, max_repeats=limit))
    assert cut["needed"] == min(whole["needed"], limit)
    assert cut["settled"] == (whole["settled"] and whole["needed"] <= limit)
    mirrored = need(rollouts - passed, rollouts, Target(band=BAND, max_repeats=150))
    assert mirrored["needed"] == whole["needed"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"confidence": 0.5},
        {"confidence": 1.0},
        {"half_width": 0.0},
        {"half_width": 0.5},
        {"band": Span(0.5, 0.5)},
        {"band": Span(1.0, 2.0)},
        {"band": Span(-math.inf, 0.0)},
    ],
)
def test_what_is_no_target(wrong: dict[str, Any]) -> None:
    with pytest.raises((UsageError, ValidationError)):
        Target(**wrong)


def test_a_band_may_have_one_end() -> None:
    whole, half = needs([(1, 4)], Target(band=Span(0.0, 0.5))), needs([(1, 4)], Target(band=Span(-math.inf, 0.5)))
    assert whole == half
