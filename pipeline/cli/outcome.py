"""What became of a collection, and what can be done about the rollouts that failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from pipeline import names
from pipeline.cli.called import going_on

if TYPE_CHECKING:
    from pipeline.cli.collection_files import Paths
    from pipeline.collect.collecting import Tally
    from pipeline.collect.keyed_rows import Key
    from pipeline.collect.past import Past
    from pipeline.collect.plans import Slot


class Outcome(NamedTuple):
    """What became of a collection.

    Attributes:
        paths: Its files.
        slots: What was planned.
        past: What had become of it before.
        tally: What came now.
        seconds: How long it took.
        max_attempts: How often a rollout may be tried.
    """

    paths: Paths
    slots: Sequence[Slot]
    past: Past
    tally: Tally
    seconds: float
    max_attempts: int

    @property
    def finished(self) -> int:
        """Planned rollouts that are finished."""
        return len(self.past.finished) + self.tally.finished

    @property
    def given_up_before(self) -> list[Key]:
        """Rollouts that failed before, and were not asked now."""
        past, most = self.past, self.max_attempts
        return [slot.key for slot in self.slots if slot.key not in past.finished and past.is_over(slot.key, most)]

    @property
    def classes(self) -> dict[Key, str]:
        """The class of the last attempt of each rollout that failed."""
        return {key: self.past.classes[key] for key in self.given_up_before} | self.tally.failed

    @property
    def failed(self) -> dict[str, int]:
        """Rollouts that did not finish, by the class of their last attempt, the largest first."""
        return dict(Counter(self.classes.values()).most_common())

    @property
    def final(self) -> int:
        """How many of those that failed no collector asks again."""
        return len(self.tally.final) + sum(key in self.past.terminal for key in self.given_up_before)

    @property
    def spent(self) -> list[int]:
        """The attempts that each rollout has used which is asked again only if more of them are allowed."""
        before = [self.past.attempts[key] for key in self.given_up_before if key not in self.past.terminal]
        return before + list(self.tally.spent.values())

    @property
    def again(self) -> int:
        """How many of those that failed the next collector asks again."""
        return len(self.tally.failed) - len(self.tally.final) - len(self.tally.spent)

    @property
    def more_attempts(self) -> int | None:
        """The `--max-attempts` with which all that are out of attempts are asked again; None where none is."""
        return max(self.spent) + names.MAX_ATTEMPTS if self.spent else None

    @property
    def go_on(self) -> str | None:
        """What to type so that those that failed are asked again; None where none would be."""
        return going_on(max_attempts=self.more_attempts) if self.spent or self.again else None
