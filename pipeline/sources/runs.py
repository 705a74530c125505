"""What a user named (file, run folder, glob) → sources by role."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipeline import names
from pipeline.errors import SourceError, UsageError
from pipeline.sources.arrays import check_no_arrays
from pipeline.sources.files import Source, absent, open_source
from pipeline.sources.first_look import is_empty, is_file, may_be_rollouts, starts_like_rollouts
from pipeline.sources.lines import unreadable
from pipeline.sources.no_rollouts import Passed, no_rollouts
from pipeline.sources.paths import matching, path_of

SHOWN = 10
TABLES = (".csv", ".tsv")


@dataclass(frozen=True)
class RunFiles:
    """The files of one run by role.

    Attributes:
        rollouts: Finished rollouts; several files are one run.
        inputs: Planned rollouts.
        failures: Failed attempts.
        verdicts: What a quality check says of each rollout.
        notes: What was taken for what, where a name or a folder had to be read.
    """

    rollouts: tuple[Source, ...]
    inputs: tuple[Source, ...] = ()
    failures: tuple[Source, ...] = ()
    verdicts: tuple[Source, ...] = ()
    notes: tuple[str, ...] = field(default=())


def find_run(
    run: str | Path | Sequence[str | Path] = (),
    *,
    rollouts: Sequence[str | Path] = (),
    inputs: Sequence[str | Path] = (),
    inputs_wanted: bool = True,
    inputs_needed: bool = True,
    profiles: bool = False,
) -> RunFiles:
    """The files of a run from what the user named.

    Args:
        run: A rollouts file, run folder or glob, or several of them; inputs and failures beside them are found by name.
        rollouts: Rollouts files and globs, taken as they are.
        inputs: Inputs files and globs; without any they are found by name.
        inputs_wanted: Whether inputs are looked for.
        inputs_needed: Whether a run without inputs is refused.
        profiles: Whether a profile that is named itself is taken for its rollouts.

    Raises:
        SourceError: A file is missing or unreadable, or no rollouts or inputs are found.
        UsageError: Nothing was named.
    """
    run = [run] if isinstance(run, (str, Path)) else run
    found = _Found(profiles=profiles)
    named = {path_of(name) for name in run}
    taken = {path_of(name) for name in rollouts}
    for path in matching(rollouts):
        if path in taken:
            _check_rollouts(path)
            found.take("rollouts", path)
        else:
            found.look_at(path, note=True)
    for path in matching(run):
        found.look_at(path, note=path not in named)
    if not found.rollouts:
        passed = Passed(list(found.inputs), list(found.failures), found.passed_over, found.profiles)
        raise no_rollouts(passed, [names.shown(p) for p in (*run, *rollouts)])
    found.leave_out_profiles()
    opened = _opened(found.rollouts)
    check_no_arrays(opened)
    given = list(matching(inputs))
    if given or not inputs_wanted:
        found.forget("inputs")
    if given:
        found.inputs = dict.fromkeys(given)
        found.check_not_swapped()
    elif inputs_wanted and not found.inputs:
        found.look_for_inputs(needed=inputs_needed)
    if not found.failures:
        found.look_for_failures()
    opened_inputs = _opened(found.inputs) if inputs_wanted else ()
    check_no_arrays(opened_inputs)
    return RunFiles(
        rollouts=opened,
        inputs=opened_inputs,
        failures=_opened(found.failures),
        verdicts=_opened(found.verdicts()),
        notes=tuple(found.told()),
    )


class _Found:
    """Paths by role, while they are being looked for."""

    def __init__(self, *, profiles: bool) -> None:
        self.profiles = profiles
        self.rollouts: dict[Path, None] = {}
        self.inputs: dict[Path, None] = {}
        self.failures: dict[Path, None] = {}
        self.passed_over: list[Path] = []
        self.notes: list[tuple[str, str]] = []

    def told(self) -> Iterator[str]:
        """What was taken for what, a line each; of many files of a role the first few and the number of the rest."""
        for role in dict.fromkeys(role for role, _ in self.notes):
            of_role = list(dict.fromkeys(what for told, what in self.notes if told == role))
            yield from (f"{role}: {what}" for what in of_role[:SHOWN])
            if len(of_role) > SHOWN:
                yield f"{role}: … and {len(of_role) - SHOWN:,} more"

    def take(self, role: str, path: Path, *, note: bool = False) -> None:
        getattr(self, role)[path] = None
        if note:
            self.notes.append((role, names.shown(path)))

    def forget(self, role: str) -> None:
        """Forgets what was found of a role, for it is named by the user or not wanted at all."""
        getattr(self, role).clear()
        self.notes = [(told, what) for told, what in self.notes if told != role]

    def leave_out_profiles(self) -> None:
        """Leaves out the profiles whose own rollouts are there too: a rollout counts once."""
        may_be = [path for path in self.rollouts if path.name.endswith(names.TASKS_FILE) or path.is_symlink()]
        if not may_be:
            return
        files = filter(is_file, self.rollouts)
        own = {os.path.realpath(names.sibling(names.stem_of(path), names.TASKS_FILE)) for path in files}
        for path in [path for path in may_be if os.path.realpath(path) in own]:
            del self.rollouts[path]
            self.notes.append(("left out", f"{names.shown(path)} (a profile, whose rollouts are named too)"))

    def look_at(self, path: Path, *, note: bool) -> None:
        """Sorts a path by what it is: a folder, an artifact beside a run, or rollouts, which `note` has told."""
        inside = _inside(path)
        if inside is None:
            self._look_at_file(path, in_folder=False, note=note)
            return
        for one in inside:
            if is_file(one):
                self._look_at_file(one, in_folder=True, note=True)
            elif one.is_symlink() and one.name.endswith(names.ROLLOUT_SUFFIXES):
                self.notes.append(("left out", f"{names.shown(one)} (a link that leads nowhere)"))

    def look_for_inputs(self, *, needed: bool) -> None:
        """Finds the inputs of each rollouts file by its name."""
        looked_for = []
        for path in self.rollouts:
            stem = names.stem_of(path)
            candidates = [names.sibling(stem, names.INPUTS + suffix) for suffix in names.ROLLOUT_SUFFIXES]
            existing = [candidate for candidate in candidates if is_file(candidate)]
            looked_for += candidates[:1]
            for candidate in existing[:1]:
                self.take("inputs", candidate, note=True)
        if not self.inputs:
            self._look_for_only_inputs()
        if needed and not self.inputs:
            for path in self.rollouts:
                if path.is_file() and path.suffix != ".parquet" and not starts_like_rollouts(path):
                    hint = "Rollouts are JSON lines with response or reward; their inputs file lies beside them."
                    reason = "is empty" if is_empty(path) else "its first row is no rollout"
                    raise SourceError(reason, where=names.shown(path), hint=hint)
            hint = "Name it with --inputs, or profile without it with --rollouts-only."
            if not any(map(is_file, self.rollouts)):
                where = names.shown(next(iter(self.rollouts)))
                raise SourceError("a pipe has no inputs file beside it", where=where, hint=hint)
            paths = ", ".join(map(str, looked_for[:3]))
            raise SourceError(f"no inputs file beside the rollouts: looked for {paths}", hint=hint)

    def check_not_swapped(self) -> None:
        """Refuses inputs that were given for rollouts and rollouts for inputs."""
        of_rollouts = {os.path.realpath(path) for path in self.rollouts}
        for path in self.inputs:
            if os.path.realpath(path) in of_rollouts:
                hint = "Name its inputs, or profile without them with --rollouts-only."
                raise UsageError("is named as rollouts and as inputs", where=names.shown(path), hint=hint)
        rollouts, inputs = next(iter(self.rollouts)), next(iter(self.inputs))
        regular = rollouts.is_file() and inputs.is_file()
        if regular and starts_like_rollouts(inputs) and not starts_like_rollouts(rollouts):
            raise UsageError(
                "has neither response nor reward, but the inputs have",
                where=names.shown(rollouts),
                hint="Are --rollouts and --inputs swapped?",
            )

    def look_for_failures(self) -> None:
        """Finds the failures sidecar of each rollouts file by its name."""
        for path in self.rollouts:
            stem = names.stem_of(path)
            for suffix in names.ROLLOUT_SUFFIXES:
                candidate = names.sibling(stem, names.FAILURES + suffix)
                if is_file(candidate):
                    self.take("failures", candidate, note=True)
                    break

    def verdicts(self) -> dict[Path, None]:
        """The verdicts that lie beside the rollouts."""
        candidates = dict.fromkeys(path.with_name(f"{names.VERDICTS}.jsonl") for path in self.rollouts)
        return {path: None for path in candidates if is_file(path)}

    def _look_for_only_inputs(self) -> None:
        for folder in dict.fromkeys(path.parent for path in self.rollouts):
            plain = [folder / f"{names.INPUTS.removeprefix('_')}{suffix}" for suffix in names.ROLLOUT_SUFFIXES]
            for candidate in plain:
                if is_file(candidate):
                    self.take("inputs", candidate, note=True)

    def _look_at_file(self, path: Path, *, in_folder: bool, note: bool) -> None:
        stem = names.without_suffix(path.name)
        if f"_{stem}".endswith(names.INPUTS):
            self.take("inputs", path, note=True)
        elif f"_{stem}".endswith(names.FAILURES):
            self.take("failures", path, note=True)
        elif self.profiles and not in_folder and path.name.endswith(names.TASKS_FILE):
            self.take("rollouts", path)
        elif names.is_beside_a_run(path.name):
            self.passed_over.append(path)
        elif not in_folder:
            if path.suffix in TABLES and is_file(path) and not may_be_rollouts(path):
                hint = "Rollouts are JSON lines, or a Parquet file of rollprof export."
                raise SourceError("is no JSONL (a CSV?)", where=names.shown(path), hint=hint)
            self.take("rollouts", path, note=note)
        elif path.name.endswith(names.ROLLOUT_SUFFIXES):
            if may_be_rollouts(path):
                self.take("rollouts", path, note=True)
            else:
                self.passed_over.append(path)
                self.notes.append(("left out", f"{names.shown(path)} (its first row has neither response nor reward)"))


def _check_rollouts(path: Path) -> None:
    """Refuses what is named as rollouts, but called like what lies beside them, and has no row like theirs.

    Raises:
        SourceError: It is that.
    """
    beside = names.is_beside_a_run(path.name) and path.name.endswith(names.ROLLOUT_SUFFIXES)
    if beside and not path.name.endswith(names.TASKS_FILE) and is_file(path) and not may_be_rollouts(path):
        reason = "is called like what lies beside rollouts, and its first row has neither response nor reward"
        raise SourceError(reason, where=names.shown(path), hint="Name the rollouts.")


def _inside(path: Path) -> list[Path] | None:
    """What lies in a folder; None for what is no folder."""
    try:
        if not path.exists():
            raise absent(path)
        return sorted(path.iterdir()) if path.is_dir() else None
    except OSError as error:
        raise unreadable(names.shown(path), error) from error


def _opened(paths: Iterable[Path]) -> tuple[Source, ...]:
    """Each file once, however it was named."""
    unique: dict[str, Path] = {}
    for path in paths:
        unique.setdefault(os.path.realpath(path), path)
    return tuple(map(open_source, unique.values()))
