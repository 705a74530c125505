"""A training set → its files, together or not at all, with a manifest that says where it comes from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from pipeline import names
from pipeline.analysis.pairs import pairs
from pipeline.analysis.scoring import voting
from pipeline.analysis.selection import Selected, Selection
from pipeline.analysis.stages import STAGE
from pipeline.cli.opening import check_kept
from pipeline.errors import UsageError
from pipeline.frames.lazy import collect
from pipeline.groups import GROUP
from pipeline.output.datasets import TaskSet, Wrote, manifest_path, write_sets
from pipeline.output.export import sha256_of
from pipeline.output.files import make_folder
from pipeline.output.originals import Line, originals
from pipeline.output.task_lines import asked_by, pair_lines, profiled, samples
from pipeline.report.selection import run_level_notes
from pipeline.sources.asking import RunLevel
from pipeline.sources.files import Source

if TYPE_CHECKING:
    from pipeline.cli.console import Console
    from pipeline.run import Run

MODEL = "_select.model"
MODEL_WANTED = "select.model=row.response.model"
SHOWN = 10


class Training(NamedTuple):
    """A training set that is to be written.

    Attributes:
        run: What it was chosen from.
        selection: What was asked.
        found: What was chosen.
        output: The file that all others are named after.
        dataset: The file that the run was collected from, if its lines are wanted.
        write_back: Whether each row is told how this run did on it.
        model: Whose run it is; None for what its rollouts say.
    """

    run: Run
    selection: Selection
    found: Selected
    output: Path
    dataset: Source | None
    write_back: bool
    model: str | None


def write(training: Training, told: dict[str, Any], console: Console, *, kept: Sequence[Path] = ()) -> list[Wrote]:
    """Writes the sets and the manifest, and warns of what their lines hold.

    Args:
        training: What is written.
        told: What the manifest says of the choice.
        console: Where to warn.
        kept: Other files that may not be replaced.

    Raises:
        RollprofError: A source or the dataset is another, or a file cannot be written.
    """
    run, dataset, output = training.run, training.dataset, training.output
    sets = _sets(training.found, training.selection, output)
    for path in (*(one.path for one in sets), manifest_path(output)):
        check_kept(path, run.files, [*kept, *([] if dataset is None else [dataset.path])])
    level = RunLevel()
    every = pl.concat([one.tasks for one in sets], how="diagonal")
    lines = _lines(training, every.unique(GROUP, keep="first").sort(GROUP), level)
    make_folder(output.parent)
    wrote = write_sets(sets, lines, manifest_path(output), partial(_about, training, told))
    for note in run_level_notes(level):
        console.warn(note)
    if dataset is None and not training.selection.pairs and not run.has_input_rows:
        console.warn("the run has no inputs file: the lines hold prompt and agent, and nothing that a verifier needs")
    return wrote


def _sets(found: Selected, selection: Selection, output: Path) -> list[TaskSet]:
    """Which tasks go to which file."""
    stem, suffix = names.stem_of(output), output.suffix
    if selection.stages is None:
        sets = [TaskSet(output, found.chosen)]
    else:
        sets = [
            TaskSet(names.sibling(stem, f".stage{stage}{suffix}"), found.chosen.filter(pl.col(STAGE) == stage))
            for stage in range(1, selection.stages + 1)
        ]
    if found.control is not None:
        sets.append(TaskSet(names.sibling(stem, f".control{suffix}"), found.control))
    return sets


def _lines(training: Training, tasks: pl.DataFrame, level: RunLevel) -> Iterator[Line]:
    """The lines of all the tasks that are written."""
    run, dataset = training.run, training.dataset
    if training.selection.pairs:
        votes = voting(run, training.selection.pass_rule).join(tasks.lazy(), on=GROUP, how="semi", nulls_equal=True)
        return pair_lines(run, collect(pairs(votes)), level)
    if dataset is None:
        lines = samples(run, tasks, level)
    else:
        lines = originals(dataset, asked_by(run, tasks), fields=run.has_input_rows, level=level)
    return profiled(lines, tasks, _model(training)) if training.write_back else lines


def _model(training: Training) -> str:
    """Whose pass rates they are: the model that was named, else the one of every voting rollout.

    Raises:
        UsageError: There are several, or none.
    """
    if training.model is not None:
        return training.model
    votes = voting(training.run, training.selection.pass_rule)
    known = collect(votes.select(pl.col(MODEL).cast(pl.String).unique()))[MODEL].drop_nulls().sort().to_list()
    if len(known) == 1:
        return str(known[0])
    there = f"its rollouts are of {', '.join(known[:SHOWN])}" if known else "no rollout has a response.model"
    raise UsageError(f"whose pass rates are they? {there}", hint="Name it with --model.")


def _about(training: Training, told: dict[str, Any], wrote: list[Wrote]) -> dict[str, Any]:
    """The manifest: what was asked, of what, and what came of it."""
    files, dataset, selection = training.run.files, training.dataset, training.selection
    sources = [*files.rollouts, *files.inputs, *files.verdicts, *([] if dataset is None else [dataset])]
    return {
        "rollprof": metadata.version("rollprof"),
        "seed": selection.seed,
        "options": {
            **selection.model_dump(exclude={"seed"}, mode="json"),
            "dataset": None if dataset is None else dataset.shown,
            "write_back": training.write_back,
            "model": training.model,
            "run": training.run.options.model_dump(exclude={"jobs", "cache"}, mode="json"),
        },
        **told,
        "sources": [{"path": one.shown, "bytes": one.size, "sha256": sha256_of(one.path)} for one in sources],
        "outputs": [{"path": names.shown(one.path), "lines": one.lines, "sha256": one.sha256} for one in wrote],
    }
