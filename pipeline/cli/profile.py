"""`rollprof profile`: a run → its profile files and a summary."""

from __future__ import annotations

import os
import shlex
import sys
import threading
from contextlib import ExitStack
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipeline.cli.console import Console
from pipeline.cli.progress import progress_bar
from pipeline.errors import GateError
from pipeline.sources.inputs import begin_inputs
from pipeline.sources.readings import pays_off
from pipeline.sources.rollouts import begin_rollouts
from pipeline.sources.workers import Pool, usable_cores

if TYPE_CHECKING:
    import polars as pl

    from pipeline.options import ProfileOptions
    from pipeline.output.profile_files import Written
    from pipeline.report.notices import Notice
    from pipeline.sources.files import RunFiles


class Masked(StrEnum):
    """What happens to rollouts with a truthy mask_sample."""

    exclude = "exclude"
    include = "include"


class OnDuplicate(StrEnum):
    """What happens to rollouts that share a key."""

    error = "error"
    first = "first"
    last = "last"


class OnExtra(StrEnum):
    """What happens to rollouts that were never planned."""

    error = "error"
    drop = "drop"


class OnBadLine(StrEnum):
    """What happens to lines that cannot be used."""

    error = "error"
    skip = "skip"


def profile(
    run: Annotated[
        list[str] | None,
        typer.Argument(help="Rollouts files, a run folder or quoted globs; the inputs beside them are found by name."),
    ] = None,
    rollouts: Annotated[
        list[str] | None, typer.Option("--rollouts", "-r", help="Rollouts file or quoted glob; repeatable.")
    ] = None,
    inputs: Annotated[
        list[str] | None, typer.Option("--inputs", "-i", help="Materialized inputs file or quoted glob; repeatable.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="STEM of the outputs; needed with several rollouts files.")
    ] = None,
    output_dir: Annotated[
        Path | None, typer.Option(help="Folder for the outputs, made if need be; else beside the rollouts.")
    ] = None,
    partial: Annotated[
        bool, typer.Option("--partial", "--allow-partial-rollouts", help="Allow planned rollouts that are not there.")
    ] = False,
    masked: Annotated[Masked, typer.Option(help="Rollouts with a truthy mask_sample.")] = Masked.exclude,
    on_duplicate: Annotated[OnDuplicate, typer.Option(help="Rollouts that share a key.")] = OnDuplicate.error,
    on_extra: Annotated[OnExtra, typer.Option(help="Rollouts without an input row.")] = OnExtra.error,
    on_bad_line: Annotated[OnBadLine, typer.Option(help="Lines that cannot be used.")] = OnBadLine.error,
    nested: Annotated[
        list[str] | None,
        typer.Option(help="Object field whose numbers are metrics too, dotted; usage is response.usage; repeatable."),
    ] = None,
    counts: Annotated[
        bool, typer.Option("--counts", help="Add count/METRIC: how many rollouts a figure rests on.")
    ] = False,
    rollouts_only: Annotated[bool, typer.Option("--rollouts-only", help="Profile without an inputs file.")] = False,
    assign_indices: Annotated[
        bool,
        typer.Option("--assign-indices", help="Number rows without indices: same prompt is same task."),
    ] = False,
    min_completion: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Exit 5 below this share of finished rollouts.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="Processes; else the cores this process may use.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only warnings and refusals.")] = False,
) -> None:
    """Profile a run: figures per task, agent and repeat.

    Writes STEM_reward_profiling.jsonl, STEM_agent_metrics.json and STEM_repeat_level_metrics.json.
    """
    workers = jobs or usable_cores()
    _limit_threads(workers)
    from pipeline.options import ProfileOptions

    options = ProfileOptions(
        nested=tuple(nested or ()),
        masked=masked.value,
        assign_indices=assign_indices,
        jobs=workers,
        partial=partial,
        on_duplicate=on_duplicate.value,
        on_extra=on_extra.value,
        on_bad_line=on_bad_line.value,
        counts=counts,
        rollouts_only=rollouts_only,
        min_completion=min_completion,
    )
    console = Console(as_json=as_json, quiet=quiet)
    files, stem = _looked_up(run or (), rollouts or (), inputs or (), output, output_dir, options)
    for note in files.notes:
        console.say(note)
    if options.rollouts_only:
        console.say("no inputs: what finished is taken for what was planned")
    _profile(files, stem, options, console)


def _limit_threads(workers: int) -> None:
    """Polars' threads follow --jobs, up to the cores there are; they are fixed when it is first imported."""
    os.environ.setdefault("POLARS_MAX_THREADS", str(min(workers, usable_cores())))
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _looked_up(
    run: list[str] | tuple[()],
    rollouts: list[str] | tuple[()],
    inputs: list[str] | tuple[()],
    output: Path | None,
    output_dir: Path | None,
    options: ProfileOptions,
) -> tuple[RunFiles, Path]:
    from pipeline.options import output_stem
    from pipeline.output.files import check_folder
    from pipeline.sources.files import find_run

    files = find_run(run, rollouts=rollouts, inputs=inputs, inputs_wanted=not options.rollouts_only)
    stem = output_stem(tuple(source.named or source.path for source in files.rollouts), stem=output, folder=output_dir)
    check_folder(stem, to_be_made=output_dir is not None)
    return files, stem


def _profile(files: RunFiles, stem: Path, options: ProfileOptions, console: Console) -> None:
    """Reads, checks, writes and tells."""
    frame, problems, failures = _read(files, options, console)
    from pipeline.completion import Completion, accounting
    from pipeline.output.profile_files import write_profile
    from pipeline.report.notices import notices, null_notice

    completion = Completion(frame.lazy()).counts | {"extra_rollout_rows": _extra(problems)}
    fates = (
        accounting(frame.lazy(), failures.lazy()).collect()
        if files.failures
        else failures.clear().select(failure_class="_failure_class", rollouts="_line")
    )
    _refuse_faults(problems, completion, fates, options)
    written = write_profile(
        frame.lazy(), stem, counts=options.counts, rollouts_only=options.rollouts_only, sources=files.inputs
    )
    told = [*notices(frame, problems, failures, options), null_notice(written.nulls)]
    warnings = [notice for notice in told if notice is not None]
    _tell(console, frame, completion, fates, written, warnings, options)
    _check_gate(completion, options)


def _import_ahead() -> None:
    """Imports what the figures need while the lines are being read."""
    import scipy.special  # noqa: F401


def _read(
    files: RunFiles, options: ProfileOptions, console: Console
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """The aligned frame, the problems and the failed attempts; lines are read while Polars is imported."""
    sources = (*files.rollouts, *files.inputs)
    workers = options.jobs or 1
    with ExitStack() as stack:
        pool = stack.enter_context(Pool(workers)) if pays_off(sources, workers) else None
        begun = begin_rollouts(files.rollouts, options, workers=workers, pool=pool)
        begun_inputs = begin_inputs(files.inputs, workers=workers, pool=pool)
        if pool is not None:
            threading.Thread(target=_import_ahead, daemon=True).start()
        total = sum(source.size for source in sources)
        advance = stack.enter_context(progress_bar(total, wanted=not console.quiet))
        from pipeline.align import align
        from pipeline.frames.failures import scan_failures
        from pipeline.frames.inputs import inputs_of_rollouts, scan_inputs
        from pipeline.frames.lazy import collect_all
        from pipeline.frames.rollouts import scan_rollouts

        rollouts = scan_rollouts(files.rollouts, options, progress=advance, begun=begun)
        if options.rollouts_only:
            inputs = inputs_of_rollouts(rollouts)
        else:
            inputs = scan_inputs(files.inputs, progress=advance, begun=begun_inputs)
        aligned = align(inputs, rollouts, options)
        frame, problems, failures = collect_all([aligned.frame, aligned.problems, scan_failures(files.failures)])
    return frame, problems, failures


def _extra(problems: pl.DataFrame) -> int:
    return int((problems["_kind"] == "extra_rollouts").sum())


def _refuse_faults(
    problems: pl.DataFrame, completion: dict[str, Any], fates: pl.DataFrame, options: ProfileOptions
) -> None:
    """Raises the refusal that the problems call for, with the completeness where rollouts are missing."""
    from pipeline.report.faults import refusal
    from pipeline.report.summary import completion_text

    error = refusal(problems, options)
    if error is None:
        return
    if "missing_rollouts" in error.counts:
        again = shlex.join(["rollprof", *sys.argv[1:], "--partial"])
        error.message += "\n\n" + completion_text(completion, fates, options)
        error.hint += f"\n  With what is there: {again}"
        error.facts = {"completion": completion, "accounting": _accounting(completion, fates)}
    raise error


def _tell(
    console: Console,
    frame: pl.DataFrame,
    completion: dict[str, Any],
    fates: pl.DataFrame,
    written: Written,
    warnings: list[Notice],
    options: ProfileOptions,
) -> None:
    from pipeline.report.summary import agents_text, completion_text

    console.result(completion_text(completion, fates, options))
    if text := agents_text(written.agents, frame):
        console.result(f"\n{text}")
    console.result("\nWritten\n" + "\n".join(f"  {path}" for path in written.paths))
    if "mean/reward" in written.agents.columns:
        console.result(f"\nNext: the hardest tasks\n  {_next_command(written.paths[0])}")
    for notice in warnings:
        first = f" (first: {notice.places[0]})" if notice.places else ""
        console.warn(f"{notice.message}{first}")
    console.object(
        {
            "completion": completion,
            "masked": options.masked,
            "accounting": _accounting(completion, fates),
            "agents": _agent_objects(written),
            "outputs": [str(path) for path in written.paths],
            "warnings": [asdict(notice) for notice in warnings],
        }
    )


def _accounting(completion: dict[str, Any], fates: pl.DataFrame) -> dict[str, Any]:
    """Expected = finished + failed + unknown, and the failures by class."""
    classes = {str(kind): int(number) for kind, number in fates.iter_rows()}
    unknown = classes.pop("unknown", 0)
    failed = sum(classes.values())
    missing = completion["missing_rollout_rows"]
    return {
        "expected": completion["expected_rollout_rows"],
        "finished": completion["completed_rollout_rows"],
        "failed": failed,
        "unknown": unknown if failed or unknown else missing,
        "failure_classes": classes,
    }


def _agent_objects(written: Written) -> list[dict[str, Any]]:
    from pipeline.output.jsonl import agent_entries

    return agent_entries(written.agents, written.repeats)


def _next_command(tasks: Path) -> str:
    """A command that shows the hardest tasks of a profile."""
    figures = "select('_ng_task_index', 'num_rollouts', 'mean/reward').sort('mean/reward').collect()"
    query = f"import polars as pl; print(pl.scan_ndjson({str(tasks)!r}).{figures})"
    program = os.path.relpath(sys.executable)
    plain = not set(query) & set('"$`\\!\n')
    return f'{program} -c "{query}"' if plain else shlex.join([program, "-c", query])


def _check_gate(completion: dict[str, Any], options: ProfileOptions) -> None:
    wanted = options.min_completion
    if wanted is None:
        return
    share = completion["reward_profile_completion_pct"] / 100.0
    if share < wanted:
        raise GateError(
            f"{share:.4f} of the planned rollouts finished, fewer than --min-completion {wanted}",
            hint="The profile was written all the same.",
        )
