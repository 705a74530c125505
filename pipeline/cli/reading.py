"""Reading the files of a run: workers start at once, and Polars is imported meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

from pipeline.cli.early import take_early
from pipeline.cli.progress import progress_bar
from pipeline.sources import cache
from pipeline.sources.inputs import request_inputs
from pipeline.sources.readings import Begun, Reading, Request, begin, pays_off, useful_workers
from pipeline.sources.rollouts import request_rollouts
from pipeline.sources.workers import Pool, end_spares

if TYPE_CHECKING:
    from pipeline.options import ProfileOptions
    from pipeline.sources.files import Source
    from pipeline.sources.runs import RunFiles


@contextmanager
def reading(
    files: RunFiles, options: ProfileOptions, *, quiet: bool, heavy: str = "polars", ahead: int | None = None
) -> Iterator[Begun]:
    """Begins to read what is worth worker processes and is not in the cache; the rest is read when it is needed.

    Args:
        files: The files of the run.
        options: How to read them.
        quiet: Whether no progress is shown.
        heavy: A module that takes long to import and will be needed.
        ahead: How many chunks a worker may be read before they are taken; None for all.
    """
    inputs, rollouts = request_inputs(files.inputs, options), request_rollouts(files.rollouts, options)
    wanted = [request for request in (inputs, rollouts) if not _is_cached(request, options)]  # inputs are joined first
    with _readings(wanted, workers=options.jobs or 1, ahead=ahead) as begun:
        total = sum(source.size for source in (*files.rollouts, *files.inputs))
        with importing(heavy, wanted=bool(begun)), progress_bar(total, wanted=not quiet) as advance:
            yield Begun(begun.get(rollouts), begun.get(inputs), advance)


@contextmanager
def _readings(wanted: Sequence[Request], *, workers: int, ahead: int | None) -> Iterator[Mapping[Request, Reading]]:
    """The readings of what is wanted, begun in this order, where workers pay off; none where they do not."""
    guess = take_early(wanted, workers=workers)  # only profile is begun early, and it reads all ahead
    if guess is not None:
        with guess.pool:
            yield guess.readings
        return
    sources = [source for request in wanted for source in request.sources]
    with started(sources, workers) as pool:
        if pool is None:
            yield {}
        else:
            yield {request: begin(request, workers=workers, pool=pool, ahead=ahead) for request in wanted}


@contextmanager
def started(sources: Sequence[Source], workers: int) -> Iterator[Pool | None]:
    """Worker processes, where they pay off for these sources."""
    if not pays_off(sources, workers):
        end_spares()
        yield None
        return
    with Pool(useful_workers(sources, workers)) as pool:
        end_spares()
        yield pool


@contextmanager
def importing(module: str, *, wanted: bool) -> Iterator[None]:
    """Imports a module beside the block, where workers are busy meanwhile.

    Raises:
        Exception: It could not be imported; what the block raised then has the same cause.
    """
    if not wanted:
        yield
        return
    with ThreadPoolExecutor(1) as beside:
        ahead = beside.submit(import_module, module)
        try:
            yield
        finally:
            ahead.result()


def _is_cached(request: Request, options: ProfileOptions) -> bool:
    return options.cache and cache.has(cache.key_of(request))
