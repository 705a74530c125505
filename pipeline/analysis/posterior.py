"""What is known of how often a task is passed: the Beta posterior of its pass rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from numpy import ndarray

PRIOR = 0.5
"""Both parameters of Jeffreys' prior for a share, Beta(½, ½)."""


def jeffreys(rollouts: pl.Expr, passed: pl.Expr) -> dict[str, pl.Expr]:
    """The parameters of the posterior of a pass rate under Jeffreys' prior: Beta(passed + ½, failed + ½).

    Source: H. Jeffreys, Theory of Probability, 3rd ed. 1961, section 3.10; L. D. Brown, T. T. Cai and A. DasGupta,
    Interval Estimation for a Binomial Proportion, Statistical Science 16, 2001, section 3.1.2.

    Args:
        rollouts: How many rollouts vote.
        passed: How many of them pass.

    Returns:
        `alpha`, `beta` (Float64).
    """
    right = passed.cast(pl.Float64)
    return {"alpha": right + PRIOR, "beta": rollouts.cast(pl.Float64) - right + PRIOR}


def mass(alpha: ndarray, beta: ndarray, span: tuple[float, float]) -> ndarray:
    """The probability (0-1) that a pass rate whose posterior is Beta(α, β) lies in a range.

    I(high; α, β) - I(low; α, β), with I the regularized incomplete beta function, the distribution function of
    Beta(α, β). Ends beyond 0 and 1 are taken for these.

    Source: N. L. Johnson, S. Kotz and N. Balakrishnan, Continuous Univariate Distributions 2, 2nd ed. 1995, chapter 25.

    Args:
        alpha: First parameter of each posterior.
        beta: Second parameter.
        span: The lower and the upper end of the range.
    """
    from scipy.special import betainc

    low, high = (min(max(end, 0.0), 1.0) for end in span)
    found: ndarray = betainc(alpha, beta, high) - betainc(alpha, beta, low)
    return found


def half_width(alpha: ndarray, beta: ndarray, *, confidence: float) -> ndarray:
    """Half the width of the equal-tailed interval of a pass rate whose posterior is Beta(α, β).

    The interval is between the quantiles (1 ∓ confidence) / 2 of the posterior; with the parameters of `jeffreys` it is
    Jeffreys' interval.

    Source: L. D. Brown, T. T. Cai and A. DasGupta, Interval Estimation for a Binomial Proportion, Statistical
    Science 16, 2001, section 3.1.2.

    Args:
        alpha: First parameter of each posterior.
        beta: Second parameter.
        confidence: How much of the posterior the interval holds.
    """
    from scipy.special import betaincinv

    tail = (1 - confidence) / 2
    found: ndarray = (betaincinv(alpha, beta, 1 - tail) - betaincinv(alpha, beta, tail)) / 2
    return found


def mixed_share(alpha: pl.Expr, beta: pl.Expr, *, size: int) -> pl.Expr:
    """The expected chance that of `size` new rollouts of a task some pass and some fail (Float64).

    1 - E[p^G] - E[(1 - p)^G] for p ~ Beta(α, β), and E[p^G] = B(α + G, β) / B(α, β) = Π (α + i) / (α + β + i) over
    i = 0 … G - 1: what a beta-binomial variable of G trials leaves for 1 … G - 1.

    Source: the moments of the beta distribution (N. L. Johnson, S. Kotz and N. Balakrishnan, Continuous Univariate
    Distributions 2, 2nd ed. 1995, chapter 25).

    Args:
        alpha: First parameter of the posterior.
        beta: Second parameter.
        size: How many rollouts make a group, G.
    """

    def chance(pair: pl.Series) -> pl.Series:
        import numpy as np
        from scipy.special import betaln

        a, b = (pair.struct.field(name).to_numpy() for name in ("a", "b"))
        whole = betaln(a, b)
        same = np.exp(betaln(a + size, b) - whole) + np.exp(betaln(a, b + size) - whole)
        return pl.Series(np.clip(1.0 - same, 0.0, 1.0), dtype=pl.Float64)

    return pl.struct(a=alpha, b=beta).map_batches(chance, return_dtype=pl.Float64, is_elementwise=True)
