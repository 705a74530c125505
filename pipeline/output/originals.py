"""A dataset → the lines that a run's tasks were planned by, found by their number and checked by what they ask."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pipeline.errors import Exit, FaultsError, SourceError
from pipeline.sources import rows
from pipeline.sources.asking import Asking, RunLevel, asking_of
from pipeline.sources.files import Source
from pipeline.sources.lines import lines_of
from pipeline.sources.numbering import DatasetRow, dataset_row, numbered_by_gym, numbered_past_own
from pipeline.words import counted

Key = tuple[int, str | None]
"""A task and its agent."""
SHOWN = 10


class Line(NamedTuple):
    """A line of a data set: the tasks it is for, its text without the line feed, and where it stands."""

    keys: tuple[Key, ...]
    text: bytes
    where: str


def originals(
    dataset: Source, wanted: Mapping[Key, Asking], *, fields: bool = True, level: RunLevel | None = None
) -> Iterator[Line]:
    """The lines of the wanted tasks, byte for byte, in the order of the dataset; each line once.

    Args:
        dataset: What the run was collected from.
        wanted: What each wanted task asks, by its sample.
        fields: Whether the samples have the row's own fields.
        level: Is told of lines that stand in the dataset again.

    Raises:
        FaultsError: A line is no row (exit 3); at the end: the dataset is not that of the run (exit 4).
        SourceError: The file cannot be read.
    """
    numbers, read = _read(dataset)
    lines = _lines_of_keys(numbers, read, wanted)
    keys_at: dict[int, list[Key]] = defaultdict(list)
    for key, places in lines.items():
        for place in places:
            keys_at[place].append(key)
    left = dict.fromkeys(wanted)
    written: set[int] = set()
    told = level or RunLevel()
    with rows.numbers_of_any_length():
        for number, (_, view, _) in enumerate(lines_of(dataset.whole()), 1):
            if number not in keys_at:
                continue
            text = bytes(view)
            open_keys = [key for key in keys_at[number] if key in left]
            if not open_keys:
                told.again += hash(text) in written
                continue
            where = f"{dataset.shown}:{number}"
            try:
                asking = asking_of(rows.parse(memoryview(text)), fields=fields)
            except RecursionError:
                raise too_deep(where) from None
            fitting = tuple(key for key in open_keys if asking.fits(wanted[key]))
            if fitting:
                written.add(hash(text))
                yield Line(fitting, text, where)
                for key in fitting:
                    del left[key]
    if left:
        raise _other(dataset, {key: lines[key] for key in left}, len(wanted))


def too_deep(where: str) -> SourceError:
    """The refusal for a row whose content cannot be compared."""
    hint = "Without --dataset the samples of the run are written."
    return SourceError("is nested too deep to be told apart by its content", where=where, hint=hint)


def _read(dataset: Source) -> tuple[list[int], list[DatasetRow]]:
    """The number of each line with a row, and what tells that row from others."""
    numbers: list[int] = []
    read: list[DatasetRow] = []
    bad: list[tuple[int, str]] = []
    with rows.numbers_of_any_length():
        for number, (_, view, terminated) in enumerate(lines_of(dataset.whole()), 1):
            line = bytes(view)
            if not line.strip(rows.SPACE):
                continue
            try:
                read.append(dataset_row(line, rows.parse(view), terminated=terminated))
                numbers.append(number)
            except (rows.BadLineError, RecursionError) as error:
                bad.append((number, str(error)))
    if bad:
        raise _malformed(dataset, bad)
    return numbers, read


def _lines_of_keys(
    numbers: list[int], read: list[DatasetRow], wanted: Mapping[Key, Asking]
) -> dict[Key, dict[int, None]]:
    """The lines that may be each task's, those that name its agent if any does."""
    tasks = {task for task, _ in wanted}
    of_task: dict[int, dict[int, str | None]] = defaultdict(dict)
    for rule in (numbered_by_gym(read), numbered_past_own((row.own, row.text) for row in read)):
        for number, row, task in zip(numbers, read, rule, strict=True):
            if task in tasks:
                of_task[task][number] = row.agent
    found = {}
    for key in wanted:
        of_agent = {number: None for number, agent in of_task[key[0]].items() if agent == key[1]}
        found[key] = of_agent or dict.fromkeys(of_task[key[0]])
    return found


def _malformed(dataset: Source, bad: list[tuple[int, str]]) -> FaultsError:
    places = [f"{dataset.shown}:{number}" for number, _ in bad[:SHOWN]]
    listed = "\n".join(f"  {place} {reason}" for place, (_, reason) in zip(places, bad, strict=False))
    what = "1 line of the dataset is no row" if len(bad) == 1 else f"{len(bad):,} lines of the dataset are no rows"
    return FaultsError(
        f"{what}:\n{listed}",
        exit_code=Exit.UNREADABLE,
        counts={"malformed": len(bad)},
        keys={},
        places={"malformed": places},
        hint="Mend them, or name the dataset that was collected from; nothing was written.",
    )


def _other(dataset: Source, left: Mapping[Key, Mapping[int, None]], wanted: int) -> FaultsError:
    """The refusal for a dataset that has not what the run's tasks ask."""
    absent = [key for key, places in left.items() if not places]
    differing = [(key, next(iter(places))) for key, places in left.items() if places]
    told = []
    if differing:
        (task, _), number = differing[0]
        told.append(f"{len(differing):,} ask something else there (first: task {task} at {dataset.shown}:{number})")
    if absent:
        told.append(f"{len(absent):,} are not in it (first: task {absent[0][0]})")
    return FaultsError(
        f"{dataset.shown} is not the dataset of this run: of {counted(wanted, 'task')} {', '.join(told)}",
        exit_code=Exit.CONTRACT,
        counts={"other_content": len(differing), "not_in_dataset": len(absent)},
        keys={},
        places={"other_content": [f"{dataset.shown}:{number}" for _, number in differing[:SHOWN]]},
        hint="Name the file that was collected from, its lines in their order; "
        "without --dataset the samples of the run are written.",
    )
