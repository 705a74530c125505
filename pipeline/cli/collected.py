"""What is told of a collection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from pipeline import names
from pipeline.cli.called import command_line
from pipeline.errors import SourceError

if TYPE_CHECKING:
    from pipeline.cli.collection_files import Paths
    from pipeline.cli.console import Console
    from pipeline.collect.collecting import Tally
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
    def failed(self) -> dict[str, int]:
        """Rollouts that did not finish, by the class of their last attempt, the largest first."""
        before = {
            slot.key: self.past.classes[slot.key]
            for slot in self.slots
            if slot.key not in self.past.finished and self.past.is_over(slot.key, self.max_attempts)
        }
        return dict(Counter((before | self.tally.failed).values()).most_common())

    @property
    def again(self) -> int:
        """How many of those that failed the next collector asks again."""
        return len(self.tally.failed) - self.tally.over


def tell(outcome: Outcome, console: Console, again: str) -> None:
    """Tells people or programs how a collection ended.

    Raises:
        SourceError: Not one rollout finished.
    """
    failed = sum(outcome.failed.values())
    written = [names.shown(path) for path in outcome.paths.there()]
    follow = command_line("profile", str(outcome.paths.rollouts), *(["--partial"] if failed else []))
    console.result("\n".join(_lines(outcome, failed)))
    console.result("\nWritten\n" + "\n".join(f"  {path}" for path in written))
    if outcome.finished:
        console.result(f"\nNext: profile them\n  {follow}")
    tally = outcome.tally
    if tally.no_usage:
        many = "1 rollout does" if tally.no_usage == 1 else f"{tally.no_usage:,} rollouts do"
        console.warn(f"{many} not say how many tokens were used")
    if tally.nulls:
        console.warn(f"{tally.nulls:,} NaN or Infinity in answers {'is' if tally.nulls == 1 else 'are'} null now")
    console.object(
        {
            "planned": len(outcome.slots),
            "finished": outcome.finished,
            "finished_now": tally.finished,
            "failed": failed,
            "failure_classes": outcome.failed,
            "failed_to_be_asked_again": outcome.again,
            "failed_attempts_now": tally.attempts,
            "reward_mean_now": tally.reward,
            "without_usage_now": tally.no_usage,
            "seconds": round(outcome.seconds, 3),
            "outputs": written,
            "next": follow if outcome.finished else None,
        }
    )
    if outcome.slots and not outcome.finished:
        error = SourceError("not one rollout finished", hint=f"Their failures say why; try again with\n  {again}")
        error.answered = True
        raise error


def _lines(outcome: Outcome, failed: int) -> list[str]:
    tally = outcome.tally
    share = 100 * outcome.finished / len(outcome.slots) if outcome.slots else 100.0
    lines = [f"Rollouts  {outcome.finished:,} of {len(outcome.slots):,} finished ({share:.2f} %)"]
    if outcome.past.finished:
        lines.append(f"Now       {tally.finished:,} finished; {len(outcome.past.finished):,} were there already")
    listed = ", ".join(f"{kind} {number:,}" for kind, number in outcome.failed.items())
    lines.append(f"Failed    {failed:,}{f': {listed}' if listed else ''}")
    if outcome.again:
        lines.append(f"Again     {outcome.again:,} of them with --resume")
    if over := failed - outcome.again:
        lines.append(f"Over      {over:,} of them: final, or out of attempts (--resume with more --max-attempts)")
    if tally.reward is not None:
        lines.append(f"Reward    {tally.reward:.4f}, the mean of {tally.rewards[1]:,} collected now")
    if tally.finished:
        rate = tally.finished / outcome.seconds
        lines.append(f"Time      {outcome.seconds:.1f} s, {rate:,.1f} rollouts a second")
    return lines
