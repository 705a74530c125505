"""Faults that the demo model is asked to have, each in a share of the rollouts."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import NamedTuple

from pipeline.collect.serving.draws import Draws
from pipeline.errors import UsageError

PASSING = ("errors", "rate-limits", "timeouts", "hangs", "malformed", "wrong-type", "huge")
"""The rollout fails, and succeeds at the next attempt unless the fault stays."""
LASTING = ("no-usage", "truncation", "empty", "unboxed")
"""The rollout succeeds, and is odd at every attempt."""
KINDS = (*PASSING, *LASTING)
ALWAYS = "always:"


class Rate(NamedTuple):
    """How often a fault strikes, and whether it strikes at every attempt."""

    share: float
    always: bool = False


class Faults:
    """The faults that were asked for."""

    def __init__(self, rates: Mapping[str, Rate]) -> None:
        self._rates = dict(rates)

    def of(self, draws: Draws, attempt: int) -> str | None:
        """The fault of a rollout at an attempt, numbered from 0; the first in the order of `KINDS`."""
        for kind in KINDS:
            rate = self._rates.get(kind)
            if rate is None or draws.share(f"fault {kind}") >= rate.share:
                continue
            if kind in LASTING or rate.always or attempt == 0:
                return kind
        return None


def parsed(text: str) -> dict[str, Rate]:
    """The rates in `errors=0.02,timeouts=always:0.01`.

    Raises:
        UsageError: A kind or a rate is none.
    """
    rates: dict[str, Rate] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        kind, _, rate = part.partition("=")
        rates[checked_kind(kind.strip())] = rate_of(rate.strip(), kind=kind)
    return rates


def checked_kind(kind: str) -> str:
    """The kind, if there is one of that name.

    Raises:
        UsageError: There is none.
    """
    if kind not in KINDS:
        close = get_close_matches(kind, KINDS, n=1)
        meant = f"Did you mean {close[0]}? " if close else ""
        raise UsageError(f"the demo has no fault {kind!r}", hint=f"{meant}There are {', '.join(KINDS)}.")
    return kind


def rate_of(text: str | float, *, kind: str) -> Rate:
    """The rate in `0.02` or `always:0.02`.

    Raises:
        UsageError: It is no share.
    """
    words = str(text)
    try:
        share = float(words.removeprefix(ALWAYS))
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise UsageError(f"the rate of {kind} is {words!r}", hint=f"Write it as {kind}=0.02 or {kind}=always:0.02.")
    return Rate(share, always=words.startswith(ALWAYS))
