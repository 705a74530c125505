"""What lies beside rollouts: failures sidecar, verdicts and profile files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import polars as pl

from pipeline import names
from pipeline.completion import accounting
from pipeline.errors import SourceError
from pipeline.frames.chunks import empty_frame
from pipeline.frames.lazy import collect
from pipeline.frames.scanning import gather
from pipeline.frames.tally import Tally
from pipeline.options import ProfileOptions
from pipeline.report.inspection_files import BadLines, File, bad_lines, files_of
from pipeline.sources.failures import read_failures
from pipeline.sources.files import Source
from pipeline.sources.reading import Chunk, Job
from pipeline.sources.readings import Request, begin
from pipeline.sources.verdicts import read_verdicts


@dataclass(frozen=True)
class FailuresFound:
    """The failures sidecar.

    Attributes:
        files: Its files with their lines.
        bad_lines: Its lines that cannot be used.
        attempts: Its usable lines.
        keys: How many rollouts they are attempts of.
        finished_keys: How many of these finished all the same.
        classes: Attempts by failure class, most first; the class of lines without one is `unnamed`.
        missing: What became of planned rollouts that did not finish, by the class of the last attempt, most first.
    """

    files: tuple[File, ...]
    bad_lines: tuple[BadLines, ...]
    attempts: int
    keys: int
    finished_keys: int
    classes: dict[str, int]
    missing: dict[str, int]


@dataclass(frozen=True)
class VerdictsFound:
    """The verdicts beside the rollouts.

    Attributes:
        files: Their files with their lines.
        bad_lines: Their lines that cannot be used.
        keys: How many rollouts they are of.
        verdicts: Rollouts by verdict, the last one of each, most first; `unnamed` where it is no text.
        findings: Rollouts by what was found, most first.
    """

    files: tuple[File, ...]
    bad_lines: tuple[BadLines, ...]
    keys: int
    verdicts: dict[str, int]
    findings: dict[str, int]


@dataclass(frozen=True)
class ProfileFile:
    """A profile file; `older` than the rollouts it is named after is one that does not know their last lines."""

    file: str
    bytes: int
    older: bool


@dataclass(frozen=True)
class _Sidecar:
    """A file beside rollouts: its rows, and what is wrong with it."""

    rows: pl.DataFrame
    files: tuple[File, ...]
    bad_lines: tuple[BadLines, ...] = field(default=())


def failures_found(sources: Sequence[Source], aligned: pl.LazyFrame, options: ProfileOptions) -> FailuresFound | None:
    """What is in the failures sidecar; None where there is none.

    Args:
        sources: Its files.
        aligned: As `align` gives it.
        options: How to read.
    """
    if not sources:
        return None
    sidecar = _sidecar("failures", sources, read_failures, ("_failure_class",), jobs=options.jobs or 1)
    rows = sidecar.rows.filter(pl.col("_problem").is_null())
    keys = rows.select(names.KEY).unique()
    finished = collect(aligned.filter(pl.col("_finished")).select(names.KEY))
    return FailuresFound(
        sidecar.files,
        sidecar.bad_lines,
        len(rows),
        len(keys),
        len(keys.join(finished, on=names.KEY, how="semi")),
        _counts(rows["_failure_class"]),
        dict(collect(accounting(aligned, sidecar.rows.lazy())).iter_rows()),
    )


def verdicts_found(sources: Sequence[Source]) -> VerdictsFound | None:
    """What is in the verdicts; None where there are none."""
    if not sources:
        return None
    sidecar = _sidecar("verdicts", sources, read_verdicts, names.FINDINGS)
    rows = sidecar.rows.filter(pl.col("_problem").is_null()).unique(names.KEY, keep="last", maintain_order=True)
    findings = rows["_findings"].drop_nulls().str.json_decode(pl.List(pl.String)).explode().drop_nulls()
    return VerdictsFound(sidecar.files, sidecar.bad_lines, len(rows), _counts(rows["_verdict"]), _counts(findings))


def profile_files(rollouts: Sequence[Source]) -> tuple[ProfileFile, ...]:
    """The profile files that are named after rollouts files."""
    found = []
    for source in rollouts:
        for path in names.profile_paths(names.stem_of(source.named or source.path)):
            try:
                about = path.stat()
            except OSError:
                continue
            found.append(ProfileFile(names.shown(path), about.st_size, about.st_mtime_ns < source.modified))
    return tuple(found)


def _sidecar(
    role: str, sources: Sequence[Source], read: Callable[[Job], Chunk], texts: Sequence[str], *, jobs: int = 1
) -> _Sidecar:
    tally = Tally(sources)
    blank = empty_frame(texts)
    try:
        rows = gather(tally.watch(begin(Request(read, tuple(sources), Job(())), workers=jobs))).frame()
    except SourceError as error:
        return _Sidecar(blank, tuple(files_of(role, sources, tally, blank, unreadable=error.message)))
    frame = pl.concat([blank, rows], how="diagonal_relaxed")
    return _Sidecar(frame, tuple(files_of(role, sources, tally, frame)), tuple(bad_lines(role, frame)))


def _counts(texts: pl.Series) -> dict[str, int]:
    counts = texts.fill_null("unnamed").alias("text").to_frame().group_by("text").len()
    return dict(counts.sort("len", "text", descending=(True, False)).iter_rows())
