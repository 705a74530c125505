"""A run → a file for other tools."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from pipeline import names
from pipeline.cli.opening import check_kept, opened
from pipeline.cli.selecting import selected
from pipeline.errors import UsageError
from pipeline.frames.lazy import collect
from pipeline.output.export import Exported, facts_of, for_people, rollout_table
from pipeline.output.files import check_folder, make_folder, whole_files
from pipeline.output.tables import write_table
from pipeline.sources.fetching import Place, fetched

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
    run = opened(asked, console, fields)
    check_kept(path, run.files)
    if wanted.rows:
        written = _copy_rows(run, wanted, path, console)
    elif wanted.tasks:
        written = _export_tasks(run, path)
    else:
        written = _export_rollouts(run, wanted, path, console)
    what = "task" if wanted.tasks else "rollout"
    console.result(f"{written:,} {what}{'' if written == 1 else 's'} in {names.shown(path)}")
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


def _export_rollouts(run: Run, wanted: Wanted, path: Path, console: Console) -> int:
    rollouts = selected(collect(run.export), wanted.where)
    exported = rollout_table(rollouts, integers=wanted.integers)
    _warn(exported, console)
    table = exported.table
    if path.suffix == ".csv":
        _write(path, lambda file: write_table(for_people(table), file, "csv"))
        return len(table)
    options = run.options.model_dump(exclude={"jobs", "cache"}) | {"where": wanted.where}
    counts = {"rollouts": len(table), "tasks": table[names.TASK].n_unique()}
    sources = (*run.files.inputs, *run.files.rollouts, *run.files.verdicts)
    facts = facts_of(exported, sources, options, counts)
    _write(path, lambda file: table.write_parquet(file, compression="zstd", metadata=facts))
    return len(table)


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


def _warn(exported: Exported, console: Console) -> None:
    for name, count in exported.rounded.items():
        console.warn(f"{name}: {count:,} whole numbers beyond 2^53 are rounded (--integers '{name}' keeps them)")
    for name in exported.fractional:
        console.warn(f"{name}: some values are no whole numbers, so the column is Float64")


def _write(path: Path, write: Callable[[IO[bytes]], None]) -> None:
    make_folder(path.parent)
    with whole_files(path) as (file,):
        write(file)
