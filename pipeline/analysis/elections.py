"""Who wins when k of n rollouts vote: shares over all ways to take them, worked out without taking them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

EXACT_UP_TO = 64
"""The k up to which all ways are counted; beyond it, and below n, ways are drawn."""
DIGITS = 13
"""What can be relied on; rounded there, a share such as 27/32 is not a last digit below itself."""
DRAWS = 2000
BLOCK = 1 << 22
"""Numbers worked on at a time: 32 MB."""

Numbers = NDArray[np.float64]


class Votes(NamedTuple):
    """The votes of a task's rollouts.

    Attributes:
        votes: How many rollouts give each answer, most first.
        right: How many of these pass.
        blank: How many rollouts give none.
    """

    votes: tuple[int, ...]
    right: tuple[int, ...]
    blank: int


def majority_share(kinds: Sequence[Votes], k: int, *, seed: int = 0) -> list[float | None]:
    """The expected rightness of the answer that wins among k of the rollouts; null where there are fewer.

    Of answers with as many votes each wins in equal shares; an answer is as right as the share of its rollouts that
    pass; without any answer nobody is right.

    Let answer a have n_a votes. Of k rollouts taken without replacement, the numbers of votes are those of
    independent Binomial(n_a, k / n) given that they add up to k. So the chance that a wins with v votes is the
    coefficient of x^k in B_a(v) x^v · Π_b (Σ_{j<v} B_b(j) x^j + y B_b(v) x^v) over the coefficient of all, where y
    marks the ties; ∫ y^t dy = 1 / (t + 1) over 0 … 1 shares them, by Gauss-Legendre nodes enough to be exact.

    Args:
        kinds: The votes of each kind of task.
        k: How many rollouts are taken.
        seed: What the draws start from, where ways are drawn; each kind has draws of its own.
    """
    sizes = [sum(kind.votes) + kind.blank for kind in kinds]
    found: list[float | None] = [None] * len(kinds)
    several = [place for place, size in enumerate(sizes) if size > k]
    for place in (place for place, size in enumerate(sizes) if size == k):
        found[place] = _winner(np.array([kinds[place].votes], np.int64), kinds[place])[0]
    left = [kinds[place] for place in several]
    shares = _counted(left, k) if k <= EXACT_UP_TO else np.array([_drawn(kind, k, seed) for kind in left], np.float64)
    for place, share in zip(several, shares, strict=True):
        found[place] = round(float(share), DIGITS)
    return found


def _counted(kinds: Sequence[Votes], k: int) -> Numbers:
    """The shares over all ways, kinds in blocks."""
    height = max(1, BLOCK // ((k + 1) * (k // 2 + 1) * 2))
    parts = [_counted_block(kinds[start : start + height], k) for start in range(0, len(kinds), height)]
    return np.concatenate([np.empty(0), *parts])


def _counted_block(kinds: Sequence[Votes], k: int) -> Numbers:
    votes, rightness, blank = _padded(kinds)
    size = votes.sum(axis=1) + blank
    chance = k / size
    share = np.zeros(len(kinds))
    for v in range(1, min(k, int(votes.max(initial=0))) + 1):
        rows = np.flatnonzero(votes[:, 0] >= v)
        share[rows] += _wins_with(v, votes[rows], rightness[rows], size[rows], chance[rows], k)
    return share / _binomial(size[:, None], np.array([k]), chance)[:, 0]


def _wins_with(
    v: int, votes: NDArray[np.int64], rightness: Numbers, size: NDArray[np.int64], chance: Numbers, k: int
) -> Numbers:
    """The chance that an answer wins with v votes, times its rightness, and that k are taken."""
    able = votes >= v
    rest = size - (votes * able).sum(axis=1)  # nobody among them has v votes, so they count as one
    nodes, widths = np.polynomial.legendre.leggauss(k // v // 2 + 1)
    ties = ((nodes + 1) / 2)[:, None]
    state = np.zeros((2, len(votes), len(nodes), k + 1))  # without and with a winner; by y; by rollouts taken
    state[0] = _binomial(rest[:, None], np.arange(k + 1), chance)[:, None, :]
    for place in range(int(able.sum(axis=1).max())):
        here = able[:, place]
        terms = _binomial(votes[:, place, None], np.arange(v + 1), chance)
        terms[~here] = 0.0
        terms[~here, 0] = 1.0
        after = terms[:, 0, None, None] * state
        for j in range(1, v):
            after[..., j:] += terms[:, j, None, None] * state[..., :-j]
        tied = terms[:, v, None, None] * state[..., : k + 1 - v]
        after[..., v:] += ties * tied
        after[1, ..., v:] += rightness[:, place, None, None] * tied[0]
        state = after
    wins: Numbers = (state[1, :, :, k] * widths / 2).sum(axis=1)
    return wins


def _drawn(kind: Votes, k: int, seed: int) -> float:
    """The share over draws that depend on the seed and the kind alone, so that no other task moves it."""
    own = np.random.SeedSequence(seed, spawn_key=(*kind.votes, *kind.right, kind.blank))
    generator = np.random.Generator(np.random.PCG64(own))
    taken = generator.multivariate_hypergeometric([*kind.votes, kind.blank], k, DRAWS)[:, :-1]
    return float(_winner(taken, kind).mean())


def _winner(taken: NDArray[np.int64], kind: Votes) -> Numbers:
    """How right the winner is, for rows of votes."""
    if not taken.shape[1]:
        return np.zeros(len(taken))
    most = taken.max(axis=1, keepdims=True)
    wins = (taken == most) & (most > 0)
    right = np.array(kind.right) / np.array(kind.votes)
    shares: Numbers = (wins * right).sum(axis=1) / np.maximum(wins.sum(axis=1), 1)
    return shares


def _padded(kinds: Sequence[Votes]) -> tuple[NDArray[np.int64], Numbers, NDArray[np.int64]]:
    """Votes, rightness and blanks of kinds as arrays, a row a kind."""
    width = max((len(kind.votes) for kind in kinds), default=0) or 1
    votes, right = np.zeros((len(kinds), width), np.int64), np.zeros((len(kinds), width))
    for row, kind in enumerate(kinds):
        votes[row, : len(kind.votes)] = kind.votes
        right[row, : len(kind.right)] = kind.right
    return votes, right / np.maximum(votes, 1), np.array([kind.blank for kind in kinds], np.int64)


def _binomial(sizes: NDArray[np.int64], taken: NDArray[np.int64], chance: Numbers) -> Numbers:
    """The chances of the numbers taken, each rollout with the chance of its row: rows of sizes × taken."""
    from scipy.special import gammaln, xlog1py, xlogy

    left = sizes - taken
    ways = gammaln(sizes + 1.0) - gammaln(taken + 1.0) - gammaln(np.maximum(left, 0) + 1.0)
    logs = ways + xlogy(taken, chance[:, None]) + xlog1py(np.maximum(left, 0), -chance[:, None])
    return np.where(left >= 0, np.exp(logs), 0.0)
