"""What to take from rows that have the same keys and the same kinds of values, and what their numbers look like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipeline import names
from pipeline.sources import fields, rows
from pipeline.sources.columns import DOUBLE, WHOLE, Block
from pipeline.sources.reading import Metric, last_places

TEXT_REWARD = 1
ODD_RESPONSE = 2
UNNUMBERED = 4
TRUNCATED = 8
NO_RESPONSE = 16
OTHER_AGENT = 32
"""Set where rollouts meet their inputs: these name another agent."""
WANTED = (
    *names.KEY,
    names.AGENT_REF,
    names.ENVIRONMENT_SERVER,
    names.RESPONSE,
    names.MASK,
    names.INSTANCE_CONFIG,
    names.REWARD,
)


class Plan:
    """What to take from objects that have the same keys and the same kinds of values."""

    __slots__ = ("blocks", "flags", "keys", "numbered", "places", "take", "typecodes", "unnumbered")

    def __init__(self, of: fields.Fields, only: frozenset[str] | None) -> None:
        metrics = fields.metric_places(of, only)
        fields.check_names(metrics)
        self.keys = tuple(metrics)
        self.typecodes = "".join(DOUBLE if type(of[1][place]) is float else WHOLE for place in metrics.values())
        self.take: Callable[[tuple[Any, ...]], tuple[Any, ...]] = fields.take(metrics.values())
        self.places = last_places(of[0], WANTED)
        task, rollout = self.places[:2]
        self.numbered = min(task, rollout) >= 0 and type(of[1][task]) is type(of[1][rollout]) is int
        self.unnumbered = UNNUMBERED if task < 0 and rollout < 0 else 0
        reward = of[1][self.places[-1]] if self.places[-1] >= 0 else None
        self.flags = TEXT_REWARD if reward is not None and type(reward) not in rows.NUMBERS else 0
        self.blocks: dict[Plan, tuple[int, Block]] = {}

    def metrics(self, place: str) -> tuple[Metric, ...]:
        """The metrics in row order; one under a nested object is told by its place."""
        return tuple((place, key) if isinstance(key, str) else (f"{place} nested", "/".join(key)) for key in self.keys)
