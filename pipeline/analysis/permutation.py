"""Paired differences → how likely chance alone makes them lean one way that much."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from pipeline.rounding import NOISE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_EXACT = 16
DRAWS = 9_999
FEWEST_DRAWS = 999
MOST_SIGNS = 120_000_000
AT_ONCE = 4_000_000


class SignFlip(NamedTuple):
    """What a sign-flip test gives.

    Attributes:
        p: How often a mean at least as far from 0 comes out when each difference has either sign by chance.
        draws: How many assignments of signs were looked at: all of them, or as many random ones.
        exact: Whether all were.
    """

    p: float
    draws: int
    exact: bool


def sign_flip_test(differences: Sequence[float], *, seed: int = 0) -> SignFlip:
    """The two-sided sign-flip permutation test of paired differences.

    Were the two runs alike, each task's difference would as well have had the other sign. Differences of 0 have no
    say. With up to 16 others all 2^n signs are looked at; else 9999 random ones (fewer, but at least 999, where there
    are more than 12 000 differences), and p = (b + 1) / (draws + 1) for b of them at least as far out.

    Source: R. A. Fisher, The Design of Experiments, 1935, section 21; the correction by 1 for random signs:
    B. Phipson and G. K. Smyth, Stat. Appl. Genet. Mol. Biol. 9 (2010), article 39. The same p as
    `scipy.stats.permutation_test` with `permutation_type="samples"`, which takes minutes for 100 000 tasks.

    Args:
        differences: One a task.
        seed: What the generator PCG64 starts from.
    """
    import numpy as np

    signed = np.asarray(differences, dtype=np.float64)
    signed = signed / max(1.0, float(np.abs(signed).max(initial=0.0)))  # sums stay within doubles
    sizes = np.sort(np.abs(signed[signed != 0]))
    bound = abs(signed.sum()) - NOISE * sizes.sum()
    if len(sizes) <= MOST_EXACT:
        sums = np.zeros(1)
        for size in sizes:
            sums = np.concatenate((sums + size, sums - size))
        return SignFlip(float((np.abs(sums) >= bound).mean()), len(sums), exact=True)
    draws = min(DRAWS, max(FEWEST_DRAWS, MOST_SIGNS // len(sizes)))
    extreme = sum(int((np.abs(sums) >= bound).sum()) for sums in _random_sums(sizes, draws, seed))
    return SignFlip((extreme + 1) / (draws + 1), draws, exact=False)


def _random_sums(sizes: NDArray[np.float64], draws: int, seed: int) -> list[NDArray[np.float64]]:
    """Sums with random signs; where few sizes are different, it is drawn how many of each are positive."""
    import numpy as np

    random = np.random.default_rng(seed)
    different, times = np.unique(sizes, return_counts=True)
    if len(different) * 8 < len(sizes):
        positive = random.binomial(times, 0.5, size=(draws, len(different)))
        return [(2.0 * positive - times) @ different]
    total = sizes.sum()
    found, at_once = [], max(1, AT_ONCE // len(sizes))
    for start in range(0, draws, at_once):
        count = min(at_once, draws - start)
        drawn = np.frombuffer(random.bytes(count * -(-len(sizes) // 8)), dtype=np.uint8).reshape(count, -1)
        bits = np.unpackbits(drawn, axis=1, count=len(sizes))
        found.append(2.0 * (bits @ sizes) - total)
    return found
