"""What can go wrong for a user, each kind with its exit code."""

from __future__ import annotations

from enum import IntEnum
from typing import Any


class Exit(IntEnum):
    """Exit codes of the command."""

    DONE = 0
    BUG = 1
    USAGE = 2
    UNREADABLE = 3
    CONTRACT = 4
    GATE = 5
    INTERRUPTED = 130
    TERMINATED = 143


class RollprofError(Exception):
    """A refusal: what is wrong, where, and what to do about it.

    Attributes:
        message: One sentence that says what is wrong.
        where: A path, `file:line`, or option; empty where the message says it.
        hint: What the user can do next; empty where there is nothing to say.
        kind: A stable word for programs.
        exit_code: What the command exits with.
        facts: More for programs, such as the completion of a refused run.
        answered: Whether standard output holds a whole result already, which nothing may follow.
    """

    kind = "error"
    exit_code = Exit.BUG

    def __init__(self, message: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint
        self.facts: dict[str, Any] = {}
        self.answered = False

    def __str__(self) -> str:
        where = f"{self.where}: " if self.where else ""
        hint = "".join(f"\n  {line}" for line in self.hint.splitlines())
        return f"{where}{self.message}{hint}"


class UsageError(RollprofError):
    """The options do not fit together."""

    kind = "usage"
    exit_code = Exit.USAGE


class SourceError(RollprofError):
    """Something that cannot be read or written."""

    kind = "unreadable"
    exit_code = Exit.UNREADABLE


class WorkerError(RollprofError):
    """A worker process ended before its work was done."""

    kind = "lost_worker"
    exit_code = Exit.UNREADABLE


class FaultsError(RollprofError):
    """Lines or keys of the data break the contract; `faults` says which.

    Attributes:
        counts: Full number of faults of each kind.
        keys: Up to ten (task, rollout) keys of each kind.
        places: Up to ten `file:line` of each kind.
    """

    kind = "faults"

    def __init__(
        self,
        message: str,
        *,
        exit_code: Exit,
        counts: dict[str, int],
        keys: dict[str, list[tuple[int, int]]],
        places: dict[str, list[str]],
        hint: str = "",
    ) -> None:
        super().__init__(message, hint=hint)
        self.exit_code = exit_code
        self.kind = "malformed" if exit_code == Exit.UNREADABLE else "contract"
        self.counts = counts
        self.keys = keys
        self.places = places


class GateError(RollprofError):
    """A gate that the user set was not met; everything was written."""

    kind = "gate"
    exit_code = Exit.GATE
