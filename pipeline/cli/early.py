"""Worker processes that start while the command line is still being parsed, where they will pay off."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from pipeline.sources.workers import start_spares, usable_cores

WORTHWHILE_BYTES = 32 << 20
"""Far above the size that is read without workers: a guess that is wrong costs more than one that is not made."""


def start_early(arguments: Sequence[str]) -> None:
    """Starts workers if a run is to be profiled and the files that arguments name are large."""
    if "profile" in arguments[:2] and sum(_sizes(arguments)) >= WORTHWHILE_BYTES:
        start_spares(min(_jobs(arguments), usable_cores()))


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
