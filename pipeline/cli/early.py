"""What is begun while the command line is still being parsed: worker processes, and the reading of a plain run.

It is a guess. Whoever reads takes what was begun only if it is the very thing that is wanted; else it is ended.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pipeline.errors import RollprofError
from pipeline.sources.workers import Pool, end_spares, start_spares, usable_cores

if TYPE_CHECKING:
    from pipeline.sources.readings import Reading, Request

WORTHWHILE_BYTES = 32 << 20
"""Far above the size that is read without workers: a guess that is wrong costs more than one that is not made."""
WORDS = (("profile",), ("eval", "profile"))
NAMING = {"-r": "rollouts", "--rollouts": "rollouts", "-i": "inputs", "--inputs": "inputs"}
VALUED = frozenset(
    (
        *("-o", "--output", "--output-dir", "-j", "--jobs", "--min-completion"),
        *("--masked", "--on-duplicate", "--on-extra", "--on-bad-line"),
    )
)
FLAGS = frozenset(("-q", "--quiet", "--json", "--no-cache", "--partial", "--allow-partial-rollouts", "--counts"))
"""Options under which the same is read from the same files."""


class Guess(NamedTuple):
    """What was begun: the workers, and what they read, by what it was asked for with."""

    pool: Pool
    workers: int
    readings: dict[Request, Reading]


_guesses: list[Guess] = []


def start_early(arguments: Sequence[str]) -> None:
    """Starts workers if a run is to be profiled and the files that arguments name are large; reads it if it is plain.

    Args:
        arguments: The command line.
    """
    words = next((words for words in WORDS if tuple(arguments[: len(words)]) == words), None)
    if words is None or sum(_sizes(arguments)) < WORTHWHILE_BYTES:
        return
    with contextlib.suppress(RollprofError, OSError, ValueError, ImportError):  # the command will meet it, and tell
        start_spares(min(_jobs(arguments), usable_cores()))
        named = _named(arguments[len(words) :])
        if named is not None:
            _begin(named, workers=_jobs(arguments), cache="--no-cache" not in arguments)


def take_early(wanted: Sequence[Request], *, workers: int) -> Guess | None:
    """What was begun early if it is just what is wanted; else it is ended.

    Args:
        wanted: What is to be read, in this order, and as far ahead as the workers get.
        workers: How many processes are to read.

    Returns:
        The guess, whose pool the caller ends; None where nothing or something else was begun.
    """
    if not _guesses:
        return None
    guess = _guesses.pop()
    if guess.workers == workers and list(guess.readings) == list(wanted):
        end_spares()
        return guess
    guess.pool.end()
    return None


def end_early() -> None:
    """Ends what was begun and nobody has taken."""
    while _guesses:
        _guesses.pop().pool.end()
    end_spares()


def _sizes(arguments: Sequence[str]) -> Iterator[int]:
    """The sizes of files that are named, or lie in a folder that is named."""
    for argument in arguments[1:]:
        path = argument.rpartition("=")[2]
        try:
            if os.path.isfile(path):  # noqa: PTH113 - the path module takes long to make paths of them
                yield os.path.getsize(path)  # noqa: PTH202
            elif os.path.isdir(path):  # noqa: PTH112
                with os.scandir(path) as entries:
                    yield sum(entry.stat().st_size for entry in entries if entry.name.endswith(".jsonl"))
        except (OSError, ValueError):
            continue


def _jobs(arguments: Sequence[str]) -> int:
    """What --jobs asks for, as far as a glance tells; else all cores."""
    for place, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name in {"-j", "--jobs"}:
            given = value if equals else next(iter(arguments[place + 1 :]), "")
            return int(given) if given.isascii() and given.isdigit() else 0
    return usable_cores()


def _named(arguments: Sequence[str]) -> dict[str, list[str]] | None:
    """The paths that a plain command line names, as `find_run` takes them; None for one that is not plain."""
    named: dict[str, list[str]] = {"run": [], "rollouts": [], "inputs": []}
    rest = iter(arguments)
    for argument in rest:
        option, equals, value = argument.partition("=") if argument.startswith("--") else (argument, "", "")
        if option in FLAGS and not equals:
            continue
        if option in VALUED or option in NAMING:
            value = value if equals else next(rest, "")
        elif argument.startswith(("-", "+")) or "=" in argument:
            return None
        if option not in VALUED:
            path = value if option in NAMING else argument
            if not (os.path.isfile(path) or os.path.isdir(path)):  # noqa: PTH112, PTH113 - a pipe comes only once
                return None
            named[NAMING.get(option, "run")].append(path)
    return named


def _begin(named: Mapping[str, Sequence[str]], *, workers: int, cache: bool) -> None:
    """Begins to read a run, unless it is in the cache."""
    from pipeline.sources.cache import has, key_of
    from pipeline.sources.inputs import request_inputs
    from pipeline.sources.readings import begin, pays_off, useful_workers
    from pipeline.sources.rollouts import request_rollouts
    from pipeline.sources.runs import find_run

    files = find_run(named["run"], rollouts=named["rollouts"], inputs=named["inputs"])
    requests = (request_inputs(files.inputs), request_rollouts(files.rollouts))
    sources = [source for request in requests for source in request.sources]
    if not pays_off(sources, workers) or (cache and any(has(key_of(request)) for request in requests)):
        return
    guess = Guess(Pool(useful_workers(sources, workers)), workers, {})
    _guesses.append(guess)
    for request in requests:
        guess.readings[request] = begin(request, workers=workers, pool=guess.pool)
