"""What is told of a collection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pipeline import names
from pipeline.cli.called import command_line
from pipeline.collect.examples import Example, examples
from pipeline.errors import SourceError
from pipeline.report.values import cut, on_one_line

if TYPE_CHECKING:
    from pipeline.cli.console import Console
    from pipeline.cli.outcome import Outcome

LETTERS = 300
"""Of a message that shows why rollouts failed."""


def tell(outcome: Outcome, console: Console) -> None:
    """Tells people or programs how a collection ended.

    Raises:
        SourceError: Not one rollout finished.
    """
    failed = sum(outcome.failed.values())
    written = [names.shown(path) for path in outcome.paths.there()]
    follow = command_line("profile", outcome.paths.rollouts, *(["--partial"] if failed else []))
    shown = examples(outcome.paths.failures, outcome.classes)
    console.result("\n".join(_lines(outcome, failed, shown)))
    console.result("\nWritten\n" + "\n".join(f"  {path}" for path in written))
    if outcome.finished:
        console.result(f"\nNext: profile them\n  {follow}")
    tally = outcome.tally
    if tally.no_usage:
        many = "1 rollout does" if tally.no_usage == 1 else f"{tally.no_usage:,} rollouts do"
        console.warn(f"{many} not say how many tokens were used")
    if unscored := tally.finished - tally.rewards[1]:
        many = "1 finished rollout has" if unscored == 1 else f"{unscored:,} finished rollouts have"
        console.warn(f"{many} no {names.REWARD} that can be averaged")
    if tally.nulls:
        console.warn(f"{tally.nulls:,} NaN or Infinity in answers {'is' if tally.nulls == 1 else 'are'} null now")
    console.object(
        {
            "planned": len(outcome.slots),
            "finished": outcome.finished,
            "finished_now": tally.finished,
            "failed": failed,
            "failure_classes": outcome.failed,
            "failure_examples": {
                kind: {"message": one.message, "place": _place(outcome, one)} for kind, one in shown.items()
            },
            "failed_to_be_asked_again": outcome.again,
            "failed_out_of_attempts": len(outcome.spent),
            "failed_for_good": outcome.final,
            "failed_attempts_now": tally.attempts,
            "reward_mean_now": tally.reward,
            "without_usage_now": tally.no_usage,
            "without_reward_now": tally.finished - tally.rewards[1],
            "seconds": round(outcome.seconds, 3),
            "outputs": written,
            "next": follow if outcome.finished else None,
            "go_on": outcome.go_on,
        }
    )
    if outcome.slots and not outcome.finished:
        error = SourceError("not one rollout finished", hint="\n".join(_advice(outcome)))
        error.answered = True
        raise error


def _advice(outcome: Outcome) -> Iterator[str]:
    """What to do where nothing finished."""
    if outcome.paths.failures.exists():
        yield f"{names.shown(outcome.paths.failures)} says why."
    if outcome.final:
        yield f"{_of(outcome.final)} final: mend the rows, and collect them to another --output."
    if outcome.spent:
        yield f"{_of(len(outcome.spent))} out of attempts."
    if outcome.go_on:
        yield f"Mend what made them fail, then go on with\n  {outcome.go_on}"


def _of(number: int) -> str:
    return "1 rollout is" if number == 1 else f"{number:,} rollouts are"


def _lines(outcome: Outcome, failed: int, shown: Mapping[str, Example]) -> list[str]:
    tally = outcome.tally
    share = 100 * outcome.finished / len(outcome.slots) if outcome.slots else 100.0
    lines = [f"Rollouts  {outcome.finished:,} of {len(outcome.slots):,} finished ({share:.2f} %)"]
    if outcome.past.finished:
        lines.append(f"Now       {tally.finished:,} finished; {len(outcome.past.finished):,} were there already")
    lines += _failure_lines(outcome, failed, shown)
    if tally.reward is not None:
        lines.append(f"Reward    {tally.reward:.4f}, the mean of {tally.rewards[1]:,} collected now")
    if tally.finished:
        rate = tally.finished / outcome.seconds
        lines.append(f"Time      {outcome.seconds:.1f} s, {rate:,.1f} rollouts a second")
    return lines


def _failure_lines(outcome: Outcome, failed: int, shown: Mapping[str, Example]) -> Iterator[str]:
    """How many failed and why, with an example of each class, and what becomes of them."""
    listed = ", ".join(f"{kind} {number:,}" for kind, number in outcome.failed.items())
    yield f"Failed    {failed:,}{f': {listed}' if listed else ''}"
    for kind in outcome.failed:
        if kind in shown and shown[kind].message:
            message = cut(on_one_line(shown[kind].message), LETTERS)
            yield f"          {kind}: {message} (first: {_place(outcome, shown[kind])})"
    if outcome.again:
        yield f"Again     {outcome.again:,} of them with --resume"
    if outcome.spent:
        more = f"--resume --max-attempts {outcome.more_attempts}"
        yield f"Spent     {len(outcome.spent):,} of them are out of attempts: {more} asks again"
    if outcome.final:
        yield f"Final     {outcome.final:,} of them: mend their rows, and collect these to another --output"


def _place(outcome: Outcome, example: Example) -> str:
    return f"{names.shown(outcome.paths.failures)}:{example.line}"
