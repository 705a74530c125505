"""Ranges have both ends in them, and a posterior says how sure it is that a pass rate lies in one."""

import math

import polars as pl
import pytest

from pipeline.analysis.bands import (
    BANDS,
    UNSCORED,
    Span,
    band_of,
    in_band,
    misfiled,
    need_width,
    pass_rate_span,
    span_of,
)
from pipeline.errors import UsageError

STEPS = 20_000


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("0.2:0.8", 0.2, 0.8),
        (":4096", -math.inf, 4096),
        ("0.5:", 0.5, math.inf),
        ("-1:-1", -1, -1),
        (":", -math.inf, math.inf),
        ("1234567:2345678", 1234567, 2345678),
        ("0.1234567:0.7654321", 0.1234567, 0.7654321),
    ],
)
def test_a_range(text: str, low: float, high: float) -> None:
    span = span_of(text, option="--tokens")
    assert span == (low, high)
    assert str(span) == text


@pytest.mark.parametrize("text", ["", "0.5", "0.8:0.2", "a:b", "nan:1", "1:2:3"])
def test_no_range(text: str) -> None:
    with pytest.raises(UsageError, match="is no range"):
        span_of(text, option="--tokens")


@pytest.mark.parametrize("text", ["20:80", "1.5:", ":-0.1"])
def test_no_pass_rates(text: str) -> None:
    with pytest.raises(UsageError, match="holds no pass rate"):
        pass_rate_span(text)


def test_a_range_of_one_point_has_pass_rates_and_no_probability() -> None:
    assert pass_rate_span("1:1") == (1, 1)
    with pytest.raises(UsageError, match="1:1: a range of one point has no probability"):
        need_width(pass_rate_span("1:1"))


@pytest.mark.parametrize("repeats", range(1, 65))
def test_both_ends_are_in_a_range_whatever_the_repeats(repeats: int) -> None:
    for passed in range(repeats + 1):
        rate = pl.DataFrame({"passed": [passed], "rollouts": [repeats]}).select(pl.col("passed") / pl.col("rollouts"))
        end = float(f"{passed / repeats!r}")
        assert rate.select(Span(end, end).has(pl.all())).item()


def test_what_has_no_value_is_in_no_range() -> None:
    values = pl.DataFrame({"x": [None, 0.2, 0.8, 0.1999, 0.8001]}, schema={"x": pl.Float64})
    assert values.select(Span(0.2, 0.8).has(pl.col("x")))["x"].to_list() == [None, True, True, False, False]


def mass(passed: int, rollouts: int, low: float, high: float) -> float:
    """The mass of Beta(passed + 1/2, failed + 1/2) in a range, summed up in small steps of p = sin² t.

    In t the density has no poles: p^(a-1) (1-p)^(b-1) dp = 2 sin^(2a-1) t cos^(2b-1) t dt.
    """

    def part(start: float, stop: float) -> float:
        begin, width = math.asin(math.sqrt(start)), (math.asin(math.sqrt(stop)) - math.asin(math.sqrt(start))) / STEPS
        middles = (begin + (step + 0.5) * width for step in range(STEPS))
        return sum(math.sin(t) ** (2 * passed) * math.cos(t) ** (2 * (rollouts - passed)) for t in middles) * width

    return part(low, high) / part(0.0, 1.0)


@pytest.mark.parametrize(("passed", "rollouts"), [(0, 0), (0, 4), (1, 4), (16, 64), (3, 3), (5, 8)])
@pytest.mark.parametrize("span", [Span(0.2, 0.8), Span(0.0, 0.3), Span(0.5, 1.0)], ids=str)
def test_the_posterior(passed: int, rollouts: int, span: Span) -> None:
    frame = pl.DataFrame({"passed": [passed], "rollouts": [rollouts]})
    found = frame.select(x=in_band(span))["x"].item()
    assert found == pytest.approx(mass(passed, rollouts, *span), abs=1e-6)


def test_ends_beyond_all_rates_hold_everything() -> None:
    frame = pl.DataFrame({"passed": [1], "rollouts": [4]})
    assert frame.select(x=in_band(Span(-math.inf, 7.0)))["x"].to_list() == [1.0]


def test_one_of_four_is_not_sixteen_of_sixty_four() -> None:
    pool = pl.DataFrame({"passed": [1, 16], "rollouts": [4, 64]}).with_columns(pass_rate=pl.lit(0.25))
    sure = pool.with_columns(in_band=in_band(Span(0.15, 0.4)))
    assert [value >= 0.9 for value in sure["in_band"]] == [False, True]
    told = misfiled(sure, Span(0.15, 0.4), confidence=0.9)
    assert (told["naive"], told["unsure"], told["overlooked"]) == (2, 1, 0)
    assert told["expected"] == pytest.approx(2 - mass(1, 4, 0.15, 0.4) - mass(16, 64, 0.15, 0.4), abs=1e-5)


def test_what_the_naive_filter_overlooks() -> None:
    pool = pl.DataFrame({"pass_rate": [0.1, 0.1, 0.5], "in_band": [0.75, 0.25, 0.5]})
    told = misfiled(pool, Span(0.2, 0.8), confidence=0.6)
    assert told == {"naive": 1, "unsure": 1, "overlooked": 1, "expected": 0.75 + 0.25 + 0.5}


def test_bands_have_their_upper_end_in_them() -> None:
    rates = [0.0, 0.01, 0.2, 0.21, 0.4, 0.6, 0.8, 0.81, 0.99, 1.0, None]
    found = pl.DataFrame({"x": rates}).select(band_of(pl.col("x")).alias("x"))["x"].to_list()
    assert found == [BANDS[place] for place in (0, 1, 1, 2, 2, 3, 4, 5, 5, 6)] + [UNSCORED]
