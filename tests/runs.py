"""Small runs: their rows, their files, and what profiling makes of them."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from pipeline.alignment import Aligned, align
from pipeline.errors import FaultsError
from pipeline.frames.inputs import scan_inputs
from pipeline.frames.lazy import collect, collect_all
from pipeline.frames.rollouts import scan_rollouts
from pipeline.options import ProfileOptions
from pipeline.output.profile_files import write_profile
from pipeline.report.faults import refusal
from pipeline.sources.files import Source, open_source
from tests.slow_profile import not_json, read_json

Row = dict[str, Any]
Content = bytes | Sequence[Row]
DEFAULT = ProfileOptions()


class Profile(NamedTuple):
    """A profile that was written: its files as bytes, and their rows and entries."""

    contents: tuple[bytes, ...]
    tasks: list[Row]
    agents: list[Row]
    repeats: list[Row]


def planned(task: int = 0, rollout: int = 0, agent: Any = "a", **fields: Any) -> Row:
    """An input row; no agent_ref where the agent is None."""
    reference = {} if agent is None else {"agent_ref": {"name": agent}}
    return {"_ng_task_index": task, "_ng_rollout_index": rollout, **reference, **fields}


def finished(task: int = 0, rollout: int = 0, usage: Any = None, **fields: Any) -> Row:
    """A rollout, its own fields before its usage."""
    response = {"response": {"usage": usage or {}}}
    return {"_ng_task_index": task, "_ng_rollout_index": rollout, **fields, **response}


def plan_of(rollouts: Iterable[Row]) -> list[Row]:
    """The input rows that these rollouts call for."""
    return [planned(row["_ng_task_index"], row["_ng_rollout_index"]) for row in rollouts]


def jsonl(rows: Content) -> bytes:
    """The content of a file of these rows; bytes are a content already."""
    return rows if isinstance(rows, bytes) else b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def sources_of(folder: Path, role: str, contents: Sequence[Content], suffix: str = ".jsonl") -> list[Source]:
    """Writes contents as the files of a role."""
    paths = [folder / f"{role}{number}{suffix}" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(jsonl(content))
    return [open_source(path) for path in paths]


def align_files(
    folder: Path, inputs: Sequence[Content], rollouts: Sequence[Content], options: ProfileOptions = DEFAULT
) -> Aligned:
    """Aligns the contents of inputs files and of rollouts files."""
    return align(
        scan_inputs(sources_of(folder, "inputs", inputs), jobs=options.jobs),
        scan_rollouts(sources_of(folder, "rollouts", rollouts), options),
        options,
    )


def aligned(
    folder: Path, inputs: Content, rollouts: Content, options: ProfileOptions = DEFAULT
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The aligned frame and the problems of one inputs file and one rollouts file."""
    found = align_files(folder, [inputs], [rollouts], options)
    return collect(found.frame), collect(found.problems)


def profile_files(
    folder: Path, inputs: Sequence[Content], rollouts: Sequence[Content], options: ProfileOptions = DEFAULT
) -> Profile | FaultsError:
    """Profiles the contents of inputs files and of rollouts files."""
    sources = sources_of(folder, "inputs", inputs)
    return profile_sources(folder, sources, sources_of(folder, "rollouts", rollouts), options)


def profile_sources(
    folder: Path, inputs: Sequence[Source], rollouts: Sequence[Source], options: ProfileOptions = DEFAULT
) -> Profile | FaultsError:
    """Profiles a run into a folder, or gives the refusal that its faults call for."""
    found = align(scan_inputs(inputs, jobs=options.jobs), scan_rollouts(rollouts, options), options)
    frame, problems = collect_all([found.frame, found.problems])
    if error := refusal(problems, options):
        return error
    written = write_profile(frame.lazy(), folder / "out", counts=options.counts, sources=inputs)
    contents = tuple(path.read_bytes() for path in written.paths)
    tasks, agents, repeats = (content.decode() for content in contents)
    return Profile(
        contents,
        [read_json(line, constant=not_json) for line in tasks.split("\n") if line],
        read_json(agents, constant=not_json),
        read_json(repeats, constant=not_json),
    )


def profiled(folder: Path, inputs: Content, rollouts: Content, options: ProfileOptions = DEFAULT) -> Profile:
    """Profiles a run of one inputs file and one rollouts file that must be profiled."""
    found = profile_files(folder, [inputs], [rollouts], options)
    assert isinstance(found, Profile), found
    return found


def means(row: Row) -> Row:
    """The means of a row, in order."""
    return {key.removeprefix("mean/"): value for key, value in row.items() if key.startswith("mean/")}


def numbers_in(info: Row) -> Row:
    """The numbers of a rollout info, in order."""
    return dict(list(info.items())[3:])
