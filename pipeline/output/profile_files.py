"""A profile → its three files."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import IO, NamedTuple, TypeVar

import polars as pl
import polars.selectors as cs

from pipeline import names
from pipeline.frames.lazy import collect
from pipeline.frames.naming import settled
from pipeline.output.files import begin_to_store, make_folder, whole_files
from pipeline.output.jsonl import agent_entries, json_text, repeat_entries, task_openings, task_rows, write_text
from pipeline.output.samples import Samples, sample_of_input, sample_of_rollout
from pipeline.profile.agents import profile_agents
from pipeline.profile.expressions import metrics_of
from pipeline.profile.repeats import profile_repeats
from pipeline.profile.tasks import UNIT, profile_tasks
from pipeline.sources.files import Source
from pipeline.sources.reading import Metric

BATCH_TASKS = 4_000
BATCH_BYTES = 3 << 20
BATCH_CELLS = 2_000_000
"""How many profile rows are made at a time, and how much samples and how many numbers they may hold: fewer are slower,
more take memory."""
THREADS = 2
T = TypeVar("T")
R = TypeVar("R")


class Written(NamedTuple):
    """What `write_profile` wrote.

    Attributes:
        paths: The profile rows, agent metrics and repeat metrics.
        agents: The agent entries, as `profile_agents` gives them.
        repeats: The repeat entries, as `profile_repeats` gives them.
        nulls: How many NaN and Infinity in samples became null.
    """

    paths: tuple[Path, Path, Path]
    agents: pl.DataFrame
    repeats: pl.DataFrame
    nulls: int

    def __repr__(self) -> str:
        return f"Written({', '.join(map(str, self.paths))})"


def write_profile(
    frame: pl.LazyFrame,
    stem: str | Path,
    *,
    counts: bool = False,
    rollouts_only: bool = False,
    sources: Iterable[Source] = (),
) -> Written:
    """Writes `STEM_reward_profiling.jsonl`, `STEM_agent_metrics.json` and `STEM_repeat_level_metrics.json`.

    Args:
        frame: As `align` gives it.
        stem: The path that the files are named after.
        counts: Whether `count/METRIC` follows the statistics.
        rollouts_only: Whether samples are taken from rollouts, because there are no inputs.
        sources: What samples are taken from, as it was when it was read, to notice a change; without it only a row
            that is another one now is noticed.

    Raises:
        SourceError: A file cannot be written, or a source was changed meanwhile.
    """
    aligned = collect(frame)
    ordered, final, _ = settled(aligned, aligned["_measured"])
    tasks = collect(profile_tasks(ordered.lazy(), counts=counts).drop("rollout_infos"))
    needed = (*UNIT, names.ROLLOUT, "_shape", *metrics_of(ordered.columns))
    measured = ordered.filter("_measured").select(cs.by_name(needed))
    if _is_fanned_out(tasks):
        measured = measured.sort(*UNIT, names.ROLLOUT)
    shape = sample_of_rollout if rollouts_only else sample_of_input
    paths = names.profile_paths(Path(stem))
    make_folder(paths[0].parent)
    with (
        whole_files(*paths) as files,
        Samples(tasks, sources, shape) as samples,  # ends first: what it finds then keeps the files from their places
        ThreadPoolExecutor(1) as beside,
    ):
        others = beside.submit(_repeats_and_agents, ordered, counts=counts)
        _write_tasks(files[0], tasks, measured, final, samples)
        repeats, agents = others.result()
        files[1].write(json_text(agent_entries(agents, repeats)))
        files[2].write(json_text(repeat_entries(repeats)))
    return Written(paths, agents, repeats, samples.nulls)


def _repeats_and_agents(ordered: pl.DataFrame, *, counts: bool) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The repeat entries and the agent entries."""
    repeats = collect(profile_repeats(ordered.lazy()))
    return repeats, collect(profile_agents(ordered.lazy(), repeats.lazy(), counts=counts))


def _is_fanned_out(tasks: pl.DataFrame) -> bool:
    """Whether there is a row for each agent of a task, which the aligned frame is not sorted by."""
    return bool((tasks["_row_agent"] > 0).any())


def _write_tasks(
    file: IO[bytes], tasks: pl.DataFrame, measured: pl.DataFrame, final: Mapping[Metric, str], samples: Samples
) -> None:
    """Writes profile rows a batch at a time, so that their text is never all in memory."""
    fan_out = _is_fanned_out(tasks)
    last_rollouts = tasks["num_rollouts"].cum_sum()
    sample_bytes = int(tasks["_input_length"].sum() or 0) // max(1, len(tasks))
    task_cells = measured.width * len(measured) // max(1, len(tasks))
    together = max(1, min(BATCH_TASKS, BATCH_BYTES // max(1, sample_bytes), BATCH_CELLS // max(1, task_cells)))

    def text(first: int) -> pl.Series:
        batch = tasks.slice(first, together)
        begin = int(last_rollouts[first - 1]) if first else 0
        rollouts = measured.slice(begin, int(last_rollouts[first + len(batch) - 1]) - begin)
        openings = task_openings(batch, samples.texts(batch), fan_out=fan_out)
        return task_rows(openings, batch["num_rollouts"], rollouts, final)

    with ThreadPoolExecutor(THREADS) as pool:
        for texts in _ahead(pool, text, range(0, len(tasks), together)):
            start = file.tell()
            write_text(file, texts)
            begin_to_store(file, start)


def _ahead(pool: ThreadPoolExecutor, work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """The results of `work` on each item in order, where a few are worked on ahead."""
    coming: deque[Future[R]] = deque()
    for item in items:
        coming.append(pool.submit(work, item))
        if len(coming) > THREADS:
            yield coming.popleft().result()
    while coming:
        yield coming.popleft().result()
