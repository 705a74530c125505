"""What is in the files of a run: frames and tallies → facts. Nothing in the data is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from pipeline import names
from pipeline.alignment import align
from pipeline.errors import SourceError
from pipeline.frames.inputs import inputs_of_rollouts, scan_inputs
from pipeline.frames.lazy import collect
from pipeline.frames.tally import Watched
from pipeline.options import ProfileOptions
from pipeline.report.inspection_beside import (
    FailuresFound,
    ProfileFile,
    VerdictsFound,
    failures_found,
    profile_files,
    verdicts_found,
)
from pipeline.report.inspection_damage import rollouts_found
from pipeline.report.inspection_fields import Export, Field, export_of, fields_of_inputs, fields_of_rollouts
from pipeline.report.inspection_files import BadLines, File, bad_lines, files_of
from pipeline.report.inspection_keys import KeyFaults, key_faults
from pipeline.report.inspection_rows import Agent, Flagged, agents_of, flagged, repeats_of
from pipeline.sources.runs import RunFiles


@dataclass(frozen=True)
class Inspection:
    """What is in the files of a run.

    Attributes:
        files: Each file with its lines.
        inputs_known: Whether there are inputs that could be read; else nothing is known to be missing or extra.
        bad_lines: Lines that cannot be used, by reason, most first.
        fields: The fields of rollouts, of their `response.usage`, and of inputs, in the order of their first line.
        exports: Rollouts that are Parquet exports, with their columns.
        repeats: How many tasks have how many rollouts, finished and planned.
        agents: Who the rows name, by agent and environment server.
        flagged: Rollouts that are masked or odd.
        keys: Faults of keys; those that rest on inputs only where there are any.
        failures: The failures sidecar.
        verdicts: The verdicts beside the rollouts.
        profile: The profile files beside the rollouts.
    """

    files: tuple[File, ...]
    inputs_known: bool
    bad_lines: tuple[BadLines, ...]
    fields: tuple[Field, ...]
    exports: tuple[Export, ...]
    repeats: dict[str, dict[int, int]]
    agents: tuple[Agent, ...]
    flagged: tuple[Flagged, ...]
    keys: tuple[KeyFaults, ...]
    failures: FailuresFound | None
    verdicts: VerdictsFound | None
    profile: tuple[ProfileFile, ...]


def inspected(
    files: RunFiles,
    options: ProfileOptions,
    *,
    inputs: Watched,
    rollouts: Watched,
    progress: Callable[[int], None] | None = None,
) -> Inspection:
    """Reads a run and says what is in its files.

    Args:
        files: The files of the run.
        options: How to read them.
        inputs: The reading of its inputs, with the types of fields counted.
        rollouts: The reading of its rollouts, with the types of fields counted.
        progress: Called with the number of bytes read since the last call.

    Raises:
        SourceError: A rollouts file cannot be read and is not a compressed one that is damaged.
        WorkerError: A worker process ended before its work was done.
    """
    unreadable: dict[str, str] = {}
    try:
        planned = collect(scan_inputs(files.inputs, options, progress=progress, begun=inputs.reading))
    except SourceError as error:
        if error.where not in {names.shown(source.path) for source in files.inputs}:
            raise  # readings share their workers, so the error may be that of another file
        unreadable["inputs"] = error.message
        planned = collect(scan_inputs(()))
    found = rollouts_found(files.rollouts, options, begun=rollouts, progress=progress)
    finished = found.rows
    known = bool(files.inputs) and "inputs" not in unreadable
    plan = planned.lazy() if known else inputs_of_rollouts(finished.lazy())
    aligned = align(plan, finished.lazy(), options)
    problems = collect(aligned.problems)
    failures = failures_found(files.failures, aligned.frame, options)
    verdicts = verdicts_found(files.verdicts)
    good_planned, good_finished = (frame.filter(pl.col("_problem").is_null()) for frame in (planned, finished))
    return Inspection(
        files=(
            *found.files,
            *files_of("inputs", files.inputs, inputs.tally, planned, unreadable=unreadable.get("inputs")),
            *(failures.files if failures else ()),
            *(verdicts.files if verdicts else ()),
        ),
        inputs_known=known,
        bad_lines=(
            *bad_lines("rollouts", finished),
            *bad_lines("inputs", planned),
            *(failures.bad_lines if failures else ()),
            *(verdicts.bad_lines if verdicts else ()),
        ),
        fields=(
            *fields_of_rollouts(found.tally, finished, found.sources),
            *fields_of_inputs(inputs.tally, planned, files.inputs),
        ),
        exports=tuple(export_of(source) for source in found.sources if source.is_export),
        repeats={
            "finished": repeats_of(good_finished, good_planned),
            "planned": repeats_of(good_planned, good_planned),
        },
        agents=agents_of(good_planned, good_finished),
        flagged=flagged(good_finished),
        keys=(
            *key_faults("duplicate_rollouts", problems, finished, found.sources),
            *(key_faults("duplicate_inputs", problems, planned, files.inputs) if known else ()),
            *(
                fault
                for kind in ("extra_rollouts", "missing_rollouts")
                for fault in key_faults(kind, problems)
                if known
            ),
        ),
        failures=failures,
        verdicts=verdicts,
        profile=profile_files(files.rollouts),
    )
