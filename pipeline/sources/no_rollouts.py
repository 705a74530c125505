"""Why there are no rollouts where somebody looked for some."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from pipeline import names
from pipeline.errors import RollprofError, SourceError, UsageError
from pipeline.sources.arrays import array_refusal, is_array
from pipeline.sources.files import open_source
from pipeline.sources.first_look import is_empty, is_file, is_folder, may_be_rollouts

OTHERS_SHOWN = 4
RUNS_SHOWN = 3


class Passed(NamedTuple):
    """What was found where rollouts were looked for, and is something else.

    Attributes:
        inputs: Planned rollouts.
        failures: Failed attempts.
        others: Everything else that was passed over.
        profiles: Whether a profile would have been taken, if it had been named.
    """

    inputs: list[Path]
    failures: list[Path]
    others: list[Path]
    profiles: bool


def no_rollouts(found: Passed, named: list[str]) -> RollprofError:
    """The refusal of names that lead to no rollouts: what is there instead, and what to name."""
    if not named:
        return UsageError("no rollouts named", hint="Name a rollouts file or a run folder.")
    if found.others and all(name.endswith(names.TASKS_FILE) for name in named):
        return SourceError(
            "is a profile: its rows are tasks, and no rollouts",
            where=", ".join(named[:3]),
            hint="Name the rollouts that it was made from; rollprof query takes a profile itself.",
        )
    if found.inputs and len(named) == 1 and is_file(Path(named[0])):
        return _only_inputs(named[0])
    return _instead(found, named)


def _instead(found: Passed, named: list[str]) -> RollprofError:
    """The refusal of folders and patterns, by what is there instead of rollouts."""
    where = ", ".join(named[:3])
    of_lines = [path for path in found.others if path.name.endswith(names.ROLLOUT_SUFFIXES) and is_file(path)]
    if empty := next(filter(is_empty, of_lines), None):
        hint = "A run that has just begun has none yet. The first row of rollouts has response or reward."
        return SourceError(f"no rollouts found: {names.shown(empty.name)} is empty", where=where, hint=hint)
    if array := next(filter(is_array, map(open_source, of_lines)), None):
        return array_refusal(array)
    profiles = [path for path in found.others if path.name.endswith(names.TASKS_FILE)]
    if profiles and found.profiles:
        hint = f"Name the profile itself: {names.shown(profiles[0])}; or the rollouts that it was made from."
        return SourceError("no rollouts found, only a profile", where=where, hint=hint)
    if runs := [names.shown(run) for run in islice(_runs_in(named), RUNS_SHOWN + 1)]:
        some = ", ".join(runs[:RUNS_SHOWN] + ["…"] * (len(runs) > RUNS_SHOWN))
        return SourceError(
            "no rollouts found, but in its folders",
            where=where,
            hint=f"Name one: {some}; or several as one run, with -o STEM.",
        )
    if all(is_file(Path(name)) for name in named):
        hint = "Name the rollouts; or give this with --rollouts, if it holds some all the same."
        return SourceError("no rollouts found: this is called like what lies beside them", where=where, hint=hint)
    others = [*found.inputs, *found.failures, *found.others]
    verb = "is" if len(others) == 1 else "are"
    what = f": {names.listed(others, most=OTHERS_SHOWN)} {verb} something else" if others else ""
    return SourceError(
        f"no rollouts found{what}",
        where=where,
        hint="Rollouts are *.jsonl, *.jsonl.gz or *.jsonl.zst whose first row has response or reward.",
    )


def _runs_in(named: Iterable[str]) -> Iterator[Path]:
    """The folders that lie in those named and hold rollouts."""
    for folder in filter(is_folder, map(Path, named)):
        for inside in sorted(filter(is_folder, folder.iterdir())):
            if any(map(_is_rollouts, sorted(inside.iterdir()))):
                yield inside


def _is_rollouts(path: Path) -> bool:
    of_lines = path.name.endswith(names.ROLLOUT_SUFFIXES) and not names.is_beside_a_run(path.name)
    return of_lines and is_file(path) and may_be_rollouts(path)


def _only_inputs(named: str) -> RollprofError:
    stem, ending, _ = str(names.stem_of(Path(named))).rpartition(names.INPUTS)
    paths = [stem + suffix for suffix in names.ROLLOUT_SUFFIXES if ending]
    there = next((path for path in paths if is_file(Path(path))), None)
    hint = f"The rollouts are {names.shown(there)}." if there else "Name the rollouts that they planned."
    return SourceError("these are materialized inputs, and no rollouts", where=named, hint=hint)
