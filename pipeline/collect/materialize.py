"""Rows of a dataset → planned rollouts: repeated in the order aabbcc, numbered, with what was overridden.

The numbering is that of NeMo Gym 0.7 (`rollout_collection.py`): rows of the same text are one task, and the rollout
index goes on per task. The text of a row stays as it is but for what is changed.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pipeline import names
from pipeline.collect.datasets import Row
from pipeline.collect.extra_body import extra_body
from pipeline.collect.options import PlanOptions
from pipeline.errors import SourceError
from pipeline.output.files import whole_files
from pipeline.sources import rows
from pipeline.sources.numbering import numbered_past_own
from pipeline.sources.text import members, with_members, with_more, without_indices


class Planned(NamedTuple):
    """A planned rollout: its key and the line of the materialized inputs."""

    task: int
    rollout: int
    line: bytes


def planned(dataset: Sequence[Row], options: PlanOptions) -> Iterator[Planned]:
    """The planned rollouts of a dataset, in order."""
    index: Counter[int] = Counter()
    tasks = numbered_past_own((row.task, row.text) for row in dataset)
    for row, task in zip(dataset, tasks, strict=True):
        text = _overridden(row, options)
        for _ in range(row.repeats):
            rollout = index[task]
            index[task] += 1
            seeded = _seeded(text, rollout) if options.add_seed else text
            key = {names.TASK: b"%d" % task, names.ROLLOUT: b"%d" % rollout}
            yield Planned(task, rollout, with_more(seeded, key) + b"\n")


def check_room(path: Path, dataset: Sequence[Row]) -> None:
    """Finds out before anything is made whether a plan can fit on the disk.

    Raises:
        SourceError: The rows alone, repeated, need more than is free there.
    """
    folder = next((one for one in path.absolute().parents if one.is_dir()), None)
    free = shutil.disk_usage(folder).free if folder else 0
    needed = sum(len(row.text) * row.repeats for row in dataset)
    if needed > free:
        number = sum(row.repeats for row in dataset)
        raise SourceError(
            f"{number:,} planned rollouts take {needed / 1e9:,.1f} GB, and {free / 1e9:,.1f} GB are free",
            where=names.shown(path),
            hint="Plan fewer repeats or rows, or choose another --output; nothing was sent.",
        )


def write_plan(path: Path, plan: Iterator[Planned]) -> int:
    """Writes materialized inputs, whole or not at all; how many there are.

    Raises:
        SourceError: The file cannot be written.
    """
    number = 0
    with whole_files(path) as (file,):
        for number, one in enumerate(plan, 1):  # noqa: B007 - counted
            file.write(one.line)
    return number


def _overridden(row: Row, options: PlanOptions) -> bytes:
    text = without_indices(row.text)
    changes = {}
    if options.overrides:
        of_params = {name: json.dumps(value).encode() for name, value in options.overrides.items()}
        changes[names.PARAMS] = with_members(_value(text, names.PARAMS), of_params)
    if not row.names_agent:
        changes[names.AGENT_REF] = json.dumps({"name": row.agent}, separators=(",", ":")).encode()
    return with_members(text, changes) if changes else text


def _seeded(text: bytes, seed: int) -> bytes:
    """The row with a seed in the text that `metadata.extra_body` is."""
    params = _value(text, names.PARAMS)
    body = json.dumps(json.dumps(extra_body(rows.parse(memoryview(params))) | {names.SEED: seed}))
    metadata = _value(params, names.METADATA)
    metadata = with_members(metadata if metadata.startswith(b"{") else b"{}", {names.EXTRA_BODY: body.encode()})
    return with_members(text, {names.PARAMS: with_members(params, {names.METADATA: metadata})})


def _value(text: bytes, key: str) -> bytes:
    """The text of the last member with this key; empty where there is none."""
    found = [text[member.value : member.end] for member in members(text) if member.key == key]
    return found[-1] if found else b""
