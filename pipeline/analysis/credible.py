"""Where the pass rate of a task may lie: how sure it is in a band, and how wide its interval is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pipeline.errors import UsageError

if TYPE_CHECKING:
    from numpy import ndarray


class Band(NamedTuple):
    """Pass rates from `low` to `high`, ends included."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.low:g}:{self.high:g}"


def parse_band(text: str, *, option: str = "--pass-rate") -> Band:
    """The band that LOW:HIGH names.

    Raises:
        UsageError: It is no band within 0 and 1.
    """
    low, colon, high = text.partition(":")
    try:
        band = Band(float(low), float(high))
    except ValueError:
        band = Band(1.0, 0.0)
    if not (colon and 0 <= band.low < band.high <= 1):
        raise UsageError(f"{option} {text!r} is no band of pass rates", hint="Write it like 0.2:0.8, within 0 and 1.")
    return band


def chance_within(alpha: ndarray, beta: ndarray, band: Band) -> ndarray:
    """The probability that a pass rate whose posterior is Beta(α, β) lies in a band: I_high(α, β) - I_low(α, β).

    I is the regularized incomplete beta function, the distribution function of the beta distribution (N. L. Johnson,
    S. Kotz and N. Balakrishnan, Continuous Univariate Distributions 2, 2nd ed. 1995, chapter 25).
    """
    from scipy.special import betainc

    found: ndarray = betainc(alpha, beta, band.high) - betainc(alpha, beta, band.low)
    return found


def half_width(alpha: ndarray, beta: ndarray, confidence: float) -> ndarray:
    """Half the width of the equal-tailed interval of a pass rate whose posterior is Beta(α, β).

    The interval is between the quantiles (1 ∓ confidence) / 2 of the posterior; with α = passed + ½ and
    β = failed + ½ it is Jeffreys' interval (L. D. Brown, T. T. Cai and A. DasGupta, Interval Estimation for a
    Binomial Proportion, Statistical Science 16, 2001, section 3.1.2).
    """
    from scipy.special import betaincinv

    tail = (1 - confidence) / 2
    found: ndarray = (betaincinv(alpha, beta, 1 - tail) - betaincinv(alpha, beta, tail)) / 2
    return found
