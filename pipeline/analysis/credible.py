"""How wide the interval of a pass rate is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy import ndarray


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
