"""Tasks → the lines that are written of them: samples, or their best and worst rollouts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import polars as pl

from pipeline import names
from pipeline.errors import SourceError
from pipeline.groups import GROUP
from pipeline.output.originals import Key, Line, too_deep
from pipeline.output.samples import Samples, Shape, sample_of_input, sample_of_profile, sample_of_rollout, whole_line
from pipeline.run import Run
from pipeline.sources import rows
from pipeline.sources.asking import Asking, RunLevel, asking_of
from pipeline.sources.fields import plain
from pipeline.sources.profiled_text import with_reward_profile

BATCH_BYTES = 8 << 20
MOST_TASKS = 20_000
LOOKED_AT = 100


def samples(run: Run, tasks: pl.DataFrame, level: RunLevel) -> Iterator[Line]:
    """The sample of each task, in their order; they come as they are asked for.

    Args:
        run: What they are of.
        tasks: Candidates with the places of their samples.
        level: Is told of every row.

    Raises:
        SourceError: A source is no longer what it was when it was read, or a rollout does not say what was asked.
    """
    of_rollouts = _shape(run) is sample_of_rollout
    with _opened(run, tasks) as found:
        for batch in tasks.iter_slices(_at_a_time(tasks)):
            texts = found.texts(batch)
            level.nulls = found.nulls
            for key, text in zip(keys_of(batch), texts, strict=True):
                line: bytes = text.encode()
                row = rows.parse(memoryview(line))
                if of_rollouts and names.PARAMS not in row:
                    hint = "Name the inputs with --inputs; the rollouts alone do not say what to collect again."
                    raise SourceError(f"has no {names.PARAMS}", where=f"the rollout of task {key[0]}", hint=hint)
                level.add(row, line)
                yield Line((key,), line, f"the sample of task {key[0]}")


def asked_by(run: Run, tasks: pl.DataFrame) -> dict[Key, Asking]:
    """What each task asks, by its sample.

    Raises:
        SourceError: A source is no longer what it was when it was read.
    """
    fields = run.has_input_rows  # rollouts have only what was asked
    asked: dict[Key, Asking] = {}
    with _opened(run, tasks) as found:
        for batch in tasks.iter_slices(_at_a_time(tasks)):
            for key, text in zip(keys_of(batch), found.texts(batch), strict=True):
                try:
                    asked[key] = asking_of(rows.parse(memoryview(text.encode())), fields=fields)
                except RecursionError:
                    raise too_deep(f"the sample of task {key[0]}") from None
    return asked


def fields_of(run: Run, tasks: pl.DataFrame) -> list[str]:
    """The fields that single values of some tasks' samples have, by their dotted paths, in the order they are met."""
    some = tasks.filter(pl.col("_input_source").is_not_null()).head(LOOKED_AT)
    with _opened(run, some) as found:
        read = [plain(rows.parse(memoryview(text.encode()))) for text in found.texts(some)]
    return list(dict.fromkeys(path for row in read for path in _paths(row)))


def pair_lines(run: Run, ends: pl.DataFrame, level: RunLevel) -> Iterator[Line]:
    """A line for each task with its best and its worst rollout as they stand in the dump.

    Args:
        run: What they are of.
        ends: As `pairs` gives them.
        level: Is told of NaN and Infinity, which become null.

    Raises:
        SourceError: A dump is no longer what it was, or is not there.
    """
    sources = [run.source_of(shown) for shown in ends["_input_source"].unique(maintain_order=True)]
    with Samples(ends, sources, whole_line) as found:
        for batch in ends.iter_slices(2 * _at_a_time(ends)):
            texts = found.texts(batch).to_list()
            level.nulls = found.nulls
            for key, best, worst in zip(keys_of(batch.gather_every(2)), texts[::2], texts[1::2], strict=True):
                pair = f'{{"chosen": {best.strip()}, "rejected": {worst.strip()}}}'
                yield Line((key,), pair.encode(), f"the rollouts of task {key[0]}")


def profiled(lines: Iterable[Line], tasks: pl.DataFrame, model: str) -> Iterator[Line]:
    """The lines with what this run made of them in their `reward_profiles`, the rest of their text unchanged.

    A line that is several agents' has the figures over the rollouts of all of them.

    Args:
        lines: Lines of these tasks.
        tasks: Candidates.
        model: The name of the model.

    Raises:
        SourceError: A row has something else there.
    """
    votes = {(task, agent): counts for task, agent, *counts in tasks.select(*GROUP, "rollouts", "passed").iter_rows()}
    for line in lines:
        rollouts, passed = (sum(counts) for counts in zip(*(votes[key] for key in line.keys), strict=True))
        rate = passed / rollouts if rollouts else None
        entry = {"model_hf_path": model, "num_generations": rollouts, "pass_rate": rate}
        try:
            yield line._replace(text=with_reward_profile(line.text, entry))
        except rows.BadLineError as error:
            hint = "Mend it, or write the data set without --write-back."
            raise SourceError(str(error), where=line.where, hint=hint) from error


def keys_of(tasks: pl.DataFrame) -> Iterator[Key]:
    """The task and agent of each row."""
    return tasks.select(GROUP).iter_rows()


def _opened(run: Run, tasks: pl.DataFrame) -> Samples:
    """The samples of a run's tasks; opened, they can be asked for their texts."""
    return Samples(tasks, (*run.files.inputs, *run.files.rollouts), _shape(run))


def _at_a_time(tasks: pl.DataFrame) -> int:
    """How many samples are fetched at a time, so that their texts are never all in memory."""
    mean = int(tasks["_input_length"].mean() or 0) + 1  # type: ignore[arg-type]
    return max(1, min(MOST_TASKS, BATCH_BYTES // mean))


def _shape(run: Run) -> Shape:
    if run.files.inputs:
        return sample_of_input
    return sample_of_profile if run.is_profile else sample_of_rollout


def _paths(row: dict[str, Any], before: str = "") -> Iterator[str]:
    for key, value in row.items():
        if isinstance(value, dict):
            yield from _paths(value, f"{before}{key}.")
        elif not isinstance(value, list):
            yield before + key
