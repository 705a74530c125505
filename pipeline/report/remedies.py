"""What to do about what breaks the contract: the problems frame → the hints of a refusal."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from pipeline import names
from pipeline.sources.reading import NO_INDICES

NEARLY_ALL = 0.9
"""The share of a run's keys from which on two files that have them are taken for two runs."""
TWO = 2
REMEDY = {
    "malformed": "Mend the lines, or leave them out with --on-bad-line skip.",
    "torn": "Let the run finish, or profile what is whole with --partial.",
    "duplicate_inputs": "Each (task, rollout) may be planned once: mend the inputs, or use --rollouts-only.",
    "duplicate_rollouts": "Choose with --on-duplicate first or --on-duplicate last.",
    "extra_rollouts": "Give the inputs that planned them, or leave them out with --on-extra drop.",
    "missing_rollouts": "Profile what is there with --partial, or collect the rest.",
}
TWICE_PLANNED_AND_DONE = (
    "Each (task, rollout) may be planned once: mend the inputs, or use --rollouts-only, and choose with --on-duplicate "
    "first or --on-duplicate last."
)
NUMBER = "Rows without indices are numbered by their prompt with --rollouts-only --assign-indices."
NOT_ONE = {
    "rollouts": "Not one line of the rollouts can be used: mend them, or name others.",
    "inputs": "Not one line of the inputs can be used: name others with --inputs, or do without with --rollouts-only.",
}


class There(NamedTuple):
    """How much of a run could be used.

    Attributes:
        planned: How many keys the inputs plan.
        finished: How many of these have a rollout.
    """

    planned: int
    finished: int

    @classmethod
    def of(cls, frame: pl.DataFrame) -> There:
        """What is there of an aligned frame: `_finished`."""
        return cls(len(frame), int(frame["_finished"].sum()))


def unusable_roles(problems: pl.DataFrame, there: There | None) -> list[str]:
    """The roles (rollouts, inputs) that have lines, of which not one can be used; one cut off may still be written.

    Args:
        problems: As `align` gives them.
        there: How much could be used; None where nobody knows.
    """
    if there is None:
        return []
    usable = {
        "rollouts": there.finished + len(_of_kind(problems, "extra_rollouts")),
        "inputs": there.planned,
    }
    malformed = _of_kind(problems, "malformed")["_role"]
    return [role for role, count in usable.items() if not count and role in malformed]


def keys_of(problems: pl.DataFrame, there: There | None) -> int | None:
    """How many keys the rollouts have; None where nobody knows.

    Args:
        problems: As `align` gives them.
        there: How much could be used; None where nobody knows.
    """
    return None if there is None else there.finished + _of_kind(problems, "extra_rollouts").n_unique(names.KEY)


def remedies(found: Mapping[str, pl.DataFrame], *, unusable: Sequence[str], keys: int | None) -> Iterator[str]:
    """What to do about each kind of fault, a line each.

    Args:
        found: The problems by their kind.
        unusable: The roles of which not one line can be used.
        keys: How many keys the rollouts have; None where nobody knows.
    """
    for kind, rows in found.items():
        if kind == "malformed" and unusable:
            unnumbered = "rollouts" in unusable and (_of_role(rows, "rollouts")["_problem"] == NO_INDICES).all()
            yield from [NUMBER] if unnumbered else [NOT_ONE[role] for role in unusable]
        elif kind == "duplicate_inputs" and "duplicate_rollouts" in found:
            yield TWICE_PLANNED_AND_DONE
        elif kind == "duplicate_rollouts" and keys is not None:
            yield from filter(None, [_two_runs(rows, keys)])
            if "duplicate_inputs" not in found:  # else they are refused all the same
                yield REMEDY[kind]
        else:
            yield REMEDY[kind]


def _two_runs(duplicates: pl.DataFrame, keys: int) -> str | None:
    """What to say where nearly all keys of a run are in several of its files."""
    shared = duplicates.filter(pl.col("_source").n_unique().over(names.KEY) > 1)
    if shared.is_empty() or shared.n_unique(names.KEY) < NEARLY_ALL * keys:
        return None
    return f"Are these two runs? Then name one of them, or compare them: rollprof compare {_both(shared)}"


def _both(shared: pl.DataFrame) -> str:
    """The two runs as a shell reads them, by their files or by their folders; A B where they are not two."""
    files = shared["_source"].unique(maintain_order=True).to_list()
    folders = list(dict.fromkeys(str(Path(file).parent) for file in files))
    two = next((some for some in (files, folders) if len(some) == TWO), ["A", "B"])
    return shlex.join(two)


def _of_kind(problems: pl.DataFrame, kind: str) -> pl.DataFrame:
    return problems.filter(pl.col("_kind") == kind)


def _of_role(problems: pl.DataFrame, role: str) -> pl.DataFrame:
    return problems.filter(pl.col("_role") == role)
