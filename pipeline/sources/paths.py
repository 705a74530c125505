"""What a user typed as a name → the paths that it means."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from pipeline import names
from pipeline.errors import SourceError, UsageError


def matching(named: Iterable[str | Path]) -> Iterator[Path]:
    """The paths meant by names: an existing path is itself, anything else is read as a glob."""
    for name in named:
        if not str(name):
            raise UsageError("an empty name is no file", hint="Name a rollouts file or a run folder.")
        path = path_of(name)
        if os.path.lexists(path):
            yield path
            continue
        matches = sorted(glob.glob(str(name), recursive=True))  # noqa: PTH207 - it takes absolute patterns
        if not matches:
            raise SourceError(
                "no such file, and nothing matches it as a pattern",
                where=names.shown(name),
                hint="Name a rollouts file or a run folder.",
            )
        yield from map(Path, matches)


def path_of(name: str | Path) -> Path:
    """The path that a name means; `-` is standard input."""
    return Path("/dev/stdin") if str(name) == "-" else Path(name)
