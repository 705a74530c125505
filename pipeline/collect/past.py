"""What became of planned rollouts before: the rollouts file and the failures beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pipeline import names
from pipeline.collect.keyed_rows import Key, key_of, keyed_rows
from pipeline.collect.plans import Slot
from pipeline.errors import Exit, FaultsError, UsageError
from pipeline.sources import rows

SHOWN = 10


class Past(NamedTuple):
    """What became of rollouts before: those that are finished, failed attempts, and what the last of them was.

    Attributes:
        finished: The keys of finished rollouts.
        attempts: Failed attempts by key.
        classes: The failure class of the last attempt by key.
        terminal: Keys that are never to be asked again.
    """

    finished: set[Key]
    attempts: Counter[Key]
    classes: dict[Key, str]
    terminal: set[Key]

    def is_over(self, key: Key, max_attempts: int) -> bool:
        """Whether a rollout is not to be asked again."""
        return key in self.finished or key in self.terminal or self.attempts[key] >= max_attempts


def read_past(rollouts: Path, failures: Path) -> Past:
    """What the rollouts file and the failures beside it say; either may be missing.

    Raises:
        SourceError: A file cannot be read.
        FaultsError: A line of them cannot be used, or two rollouts share their key.
    """
    past = Past(set(), Counter(), {}, set())
    if rollouts.exists():
        past.finished.update(_finished(rollouts))
    if failures.exists():
        for line, _, _, row in keyed_rows(failures):
            key = key_of(failures, line, row)
            past.attempts[key] += 1
            past.classes[key] = rows.label_text(rows.last(row, names.FAILURE_CLASS)) or names.UNNAMED_FAILURE
            if rows.last(row, names.FAILURE_TERMINAL):
                past.terminal.add(key)
    return past


def _finished(rollouts: Path) -> Iterable[Key]:
    """The keys of finished rollouts, each of which may be there once, as the profile has it."""
    lines: dict[Key, int] = {}
    shared: dict[Key, list[int]] = {}
    for line, _, _, row in keyed_rows(rollouts):
        key = key_of(rollouts, line, row)
        if (first := lines.setdefault(key, line)) != line:
            shared.setdefault(key, [first]).append(line)
    if shared:
        raise _doubled(names.shown(rollouts), shared)
    return lines


def _doubled(where: str, shared: Mapping[Key, Sequence[int]]) -> FaultsError:
    """The refusal for rollouts that share their keys, in the words of the profile."""
    found = [(key, line) for key, lines in shared.items() for line in lines]
    listed = [f"  {where}:{line} (task {key[0]}, rollout {key[1]})" for key, line in found[:SHOWN]]
    listed += [f"  and {len(found) - SHOWN:,} more"] if len(found) > SHOWN else []
    return FaultsError(
        "\n".join([f"{len(found):,} rollouts share their key with another:", *listed]),
        exit_code=Exit.CONTRACT,
        counts={"duplicate_rollouts": len(found)},
        keys={"duplicate_rollouts": list(shared)[:SHOWN]},
        places={"duplicate_rollouts": [f"{where}:{line}" for _, line in found[:SHOWN]]},
        hint="Take all but one line of each key out; nothing was sent.",
    )


def check_past(past: Past, slots: Sequence[Slot], rollouts: Path) -> None:
    """Refuses rollouts that the materialized inputs do not plan.

    Raises:
        UsageError: There are some.
    """
    extra = sorted(past.finished - {slot.key for slot in slots})
    if extra:
        listed = ", ".join(f"{task}:{rollout}" for task, rollout in extra[:SHOWN])
        more = f" and {len(extra) - SHOWN:,} more" if len(extra) > SHOWN else ""
        raise UsageError(
            f"has rollouts that the materialized inputs beside it do not plan: {listed}{more}",
            where=names.shown(rollouts),
            hint="Choose another --output, or bring back the materialized inputs of this one.",
        )
