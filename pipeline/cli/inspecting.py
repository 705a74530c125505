"""A run → what is in its files, on standard output."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pipeline.cli.asked import RunAsked
from pipeline.cli.console import Console, print_bytes
from pipeline.cli.progress import progress_bar
from pipeline.cli.reading import importing, started
from pipeline.frames.tally import Tally, Watched
from pipeline.options import ProfileOptions
from pipeline.sources import cache
from pipeline.sources.inputs import request_inputs
from pipeline.sources.readings import Request, begin
from pipeline.sources.rollouts import request_rollouts
from pipeline.sources.runs import find_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.report.inspection import Inspection
    from pipeline.sources.runs import RunFiles


def inspect_run(asked: RunAsked, console: Console) -> None:
    """Looks for the files of a run, reads them, and says what is in them.

    Raises:
        RollprofError: There are no rollouts, or a file of them cannot be opened.
    """
    alone = asked.rollouts_only or asked.assign_indices
    files = find_run(
        asked.run or (),
        rollouts=asked.rollouts or (),
        inputs=asked.inputs or (),
        inputs_wanted=not alone,
        inputs_needed=False,
    )
    for note in files.notes:
        console.say(note)
    found = _inspected(files, ProfileOptions(**asked.options() | {"rollouts_only": alone}), quiet=console.quiet)
    from pipeline.report.inspecting import inspection_object, inspection_text

    console.object(inspection_object(found))
    if not console.as_json:
        print_bytes(f"{inspection_text(found)}\n".encode("utf-8", "backslashreplace"))


@dataclass(frozen=True)
class _Role:
    """Sources of one role: how they are read, what is counted of them, and under which key that is kept."""

    request: Request
    tally: Tally
    key: str | None
    known: bool


def _inspected(files: RunFiles, options: ProfileOptions, *, quiet: bool) -> Inspection:
    inputs = _role(request_inputs(files.inputs, options), options)
    rollouts = _role(request_rollouts(files.rollouts, options), options)
    total = sum(source.size for source in (*files.rollouts, *files.inputs))
    with _reading((inputs, rollouts), options.jobs or 1) as watched, progress_bar(total, wanted=not quiet) as advance:
        from pipeline.report.inspection import inspected

        found = inspected(files, options, inputs=watched[0], rollouts=watched[1], progress=advance)
    for role in (inputs, rollouts):
        if role.key is not None and not role.known and role.tally.whole:
            cache.keep(role.key, role.tally.kept())
    return found


def _role(request: Request, options: ProfileOptions) -> _Role:
    """Sources whose fields are counted, or were when they were last read."""
    counting = replace(request, template=request.template._replace(inspect=True))
    tally = Tally(request.sources)
    key = cache.key_of(counting) if options.cache else None
    kept = cache.kept(key) if key is not None else None
    if kept is not None:
        tally.take(kept)
    return _Role(counting, tally, key, known=kept is not None)


@contextmanager
def _reading(roles: Sequence[_Role], workers: int) -> Iterator[list[Watched]]:
    """Begins to read what is not known; workers start at once where they pay off, and Polars is imported meanwhile."""
    wanted = [role for role in roles if not role.known]
    sources = [source for role in wanted for source in role.request.sources]
    # a damaged stream is told of its own role, so the roles of streams share no workers
    together = sources if all(source.seekable for source in sources) else ()
    with started(together, workers) as pool:
        begun = {id(role): begin(role.request, workers=workers, pool=pool) for role in wanted}
        with importing("polars", wanted=pool is not None):
            yield [Watched(role.tally, None if role.known else role.tally.watch(begun[id(role)])) for role in roles]
