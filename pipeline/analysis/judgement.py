"""Change and interval → a verdict under a rule that can be read."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from pipeline.analysis.permutation import SignFlip
from pipeline.profile.student import UPPER

Verdict = Literal["better", "worse", "no difference found", "too little data"]
FEWEST_TASKS = 6
LEVEL = 0.05
POWER = 0.8
RULE = (
    f"with fewer than {FEWEST_TASKS} tasks scored in both runs there is too little data, as {FEWEST_TASKS - 1} tasks "
    f"that all change one way are no rarity (p = {2 / 2 ** (FEWEST_TASKS - 1):g}); better or worse is a change whose "
    f"95 % interval, clustered by task, leaves out 0 and whose sign-flip test gives p < {LEVEL:g}; anything else is "
    "no difference found"
)


class Change(NamedTuple):
    """The mean change of the score over the tasks that two runs share.

    Attributes:
        tasks: How many tasks it is over.
        change: The mean of their changes; None without a task.
        se: Its standard error, None for fewer than two tasks.
        low: The lower bound of its 95 % interval, None where no task differs from another.
        high: The upper bound.
    """

    tasks: int
    change: float | None = None
    se: float | None = None
    low: float | None = None
    high: float | None = None


def change_of(row: dict[str, Any] | None) -> Change:
    """The change that a row of `changes` tells of."""
    if row is None:
        return Change(0)
    return Change(row["tasks"], row["change"], row["se"], row["low_95"], row["high_95"])


def verdict_of(change: Change, test: SignFlip | None) -> Verdict:
    """What `RULE` says; where all tasks change alike there is no interval, and the sign-flip test has the say alone."""
    if change.tasks < FEWEST_TASKS or change.change is None or test is None:
        return "too little data"
    beyond = change.low is None or change.high is None or change.low > 0 or change.high < 0
    if test.p >= LEVEL or not beyond:
        return "no difference found"
    return "better" if change.change > 0 else "worse"


def smallest_effect(change: Change) -> float | None:
    """The smallest true change that this much data shows with a probability of 0.8; None where no task differs.

    It is (t(0.975, n - 1) + t(0.8, n - 1)) · se for n tasks.

    Source: H. S. Bloom, Minimum Detectable Effects, Evaluation Review 19 (1995), 547-556.
    """
    if change.se is None or change.low is None or change.tasks < 2:  # noqa: PLR2004 - a spread takes two
        return None
    from scipy.special import stdtrit

    freedom = change.tasks - 1
    return float(stdtrit(freedom, UPPER) + stdtrit(freedom, POWER)) * change.se


def fall_of(change: Change, *, by_estimate: bool) -> float | None:
    """How far the score fell at least, by the interval, or, by the estimate, most likely; None where nobody knows.

    Where all tasks change alike there is no interval, and the fall is that of each of them.
    """
    if change.change is None:
        return None
    return -change.change if by_estimate or change.high is None else -change.high
