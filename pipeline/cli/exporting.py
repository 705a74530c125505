"""A run → a file for other tools."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from pipeline import names
from pipeline.cli.opening import begun, check, check_kept, opened, placed
from pipeline.cli.selecting import Chosen, selected
from pipeline.errors import UsageError
from pipeline.frames.lazy import collect
from pipeline.frames.spill import spilling
from pipeline.output.export import Layout, facts_of, for_people, layout, rollout_table
from pipeline.output.files import check_folder, make_folder, whole_files
from pipeline.output.streaming import write_csv, write_parquet
from pipeline.output.tables import write_table
from pipeline.portions import RowsOfRun, assembled
from pipeline.report.remedies import There
from pipeline.sources.fetching import Place, fetched
from pipeline.sources.readings import AHEAD
from pipeline.words import counted

if TYPE_CHECKING:
    from pipeline.cli.asked import FieldsAsked, RunAsked
    from pipeline.cli.console import Console
    from pipeline.run import Run

SUFFIXES = (".parquet", ".csv")


class Wanted(NamedTuple):
    """What is to be exported, and where to."""

    output: Path | None
    integers: tuple[str, ...]
    where: str | None
    tasks: bool
    rows: bool


def export_run(wanted: Wanted, asked: RunAsked, fields: FieldsAsked, console: Console) -> None:
    """Writes the export of a run and says what it holds.

    Raises:
        RollprofError: The options do not fit together, the run cannot be read, or the file cannot be written.
    """
    path = _path(wanted)
    replaced = path.is_file()
    if wanted.rows:
        written = _copy_rows(_opened(path, asked, fields, console), wanted, path, console)
    elif wanted.tasks:
        written = _export_tasks(_opened(path, asked, fields, console), path)
    else:
        written = _export_rollouts(wanted, path, asked, fields, console)
    what = "task" if wanted.tasks else "rollout"
    console.result(f"{counted(written, what)} in {placed(path, replaced=replaced)}")
    console.object({"rows": written, "outputs": [names.shown(path)]})


def _path(wanted: Wanted) -> Path:
    suffixes = (".jsonl",) if wanted.rows else SUFFIXES
    if wanted.output is None or not wanted.output.name.endswith(suffixes):
        kinds = " or ".join(f"-o FILE{suffix}" for suffix in suffixes)
        lines = "" if wanted.rows else "\nThe original lines are copied with --rows -o FILE.jsonl."
        raise UsageError("the kind of an export is told by the name of its file", hint=f"Give {kinds}.{lines}")
    if wanted.tasks and (wanted.rows or wanted.where or wanted.integers):
        raise UsageError("--tasks goes with neither --rows, --where nor --integers", hint="Leave one of them out.")
    if wanted.rows and wanted.integers:
        raise UsageError("--rows copies lines, so --integers has no say", hint="Leave one of them out.")
    check_folder(wanted.output)
    return wanted.output


def _opened(path: Path, asked: RunAsked, fields: FieldsAsked, console: Console) -> Run:
    run = opened(asked, console, fields)
    check_kept(path, run.files)
    return run


def _export_rollouts(wanted: Wanted, path: Path, asked: RunAsked, fields: FieldsAsked, console: Console) -> int:
    """Exports rollouts piece by piece, so that memory does not grow with the run."""
    with spilling() as spill:
        with begun(asked, console, fields, ahead=AHEAD) as run:
            check_kept(path, run.files)
            rows = RowsOfRun(run, spill)
        found = assembled(rows)
        there = There(found.planned, found.finished)
        check(run, found.telling, found.problems, collect(run.failures), asked, console, there=there)
        return _write_rollouts(run, Chosen(found.pieces, wanted.where), wanted, path, console)


def _write_rollouts(run: Run, rollouts: Chosen, wanted: Wanted, path: Path, console: Console) -> int:
    columns, counts = layout(rollouts, integers=wanted.integers)
    _warn(columns, console)
    tables = (rollout_table(piece, columns) for piece in rollouts)
    if path.suffix == ".csv":
        _write(path, lambda file: write_csv(map(for_people, tables), file))
    else:
        options = run.options.model_dump(exclude={"jobs", "cache"}) | {"where": wanted.where}
        sources = (*run.files.inputs, *run.files.rollouts, *run.files.verdicts)
        facts = facts_of(columns, sources, options, counts)
        _write(path, lambda file: write_parquet(tables, file, facts))
    return counts["rollouts"]


def _export_tasks(run: Run, path: Path) -> int:
    tasks = collect(run.tasks).drop("_row_agent")
    _write(path, lambda file: write_table(tasks, file, "parquet" if path.suffix == ".parquet" else "csv"))
    return len(tasks)


def _copy_rows(run: Run, wanted: Wanted, path: Path, console: Console) -> int:
    """Copies the lines of rollouts in the order of their files; masked ones only if they are asked for."""
    found = selected(collect(run.rollouts), wanted.where)
    chosen = found.filter("_measured")
    if masked := len(found) - len(chosen):
        console.say(f"{masked:,} masked left out (--masked include copies them too)")
    of_sources = chosen.sort("_source", "_offset").partition_by("_source", as_dict=True, maintain_order=True)

    def copy(file: IO[bytes]) -> None:
        for (name,), rows in of_sources.items():
            places = map(Place._make, rows.select(*names.KEY, *names.PLACE[1:]).iter_rows())
            file.writelines(line + b"\n" for line in fetched(run.source_of(str(name)), list(places)))

    _write(path, copy)
    return len(chosen)


def _warn(columns: Layout, console: Console) -> None:
    for name, count in columns.rounded.items():
        rounded = counted(count, "whole number beyond 2^53 is", "whole numbers beyond 2^53 are")
        console.warn(f"{name}: {rounded} rounded (--integers '{name}' keeps {'it' if count == 1 else 'them'})")
    for name in columns.fractional:
        console.warn(f"{name}: some values are no whole numbers, so the column is Float64")


def _write(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    make_folder(path.parent)
    with whole_files(path) as (file,):
        write(file)
