"""What a file is at a first look: by its place, its size and its first row."""

from __future__ import annotations

import os
from pathlib import Path

from pipeline import names
from pipeline.errors import SourceError
from pipeline.sources import rows
from pipeline.sources.files import open_source
from pipeline.sources.lines import lines_of


def is_file(path: Path) -> bool:
    """Whether there is a file."""
    try:
        return path.is_file()
    except OSError:  # a name longer than the system allows
        return False


def is_folder(path: Path) -> bool:
    """Whether there is a folder that can be looked into."""
    try:
        return path.is_dir() and os.access(path, os.R_OK | os.X_OK)
    except OSError:
        return False


def starts_like_rollouts(path: Path) -> bool:
    """Whether the first row has `response` or `reward`."""
    for _, view, _ in lines_of(open_source(path).whole()):
        try:
            keys = tuple(rows.parse(view))
        except rows.BadLineError:
            if bytes(view).strip(rows.SPACE):
                return False
            continue
        return names.RESPONSE in keys or names.REWARD in keys
    return False


def is_empty(path: Path) -> bool:
    """Whether a file has no bytes."""
    try:
        return not path.stat().st_size
    except OSError:  # it went away
        return False


def may_be_rollouts(path: Path) -> bool:
    """Whether a file starts like rollouts, or is so damaged that reading it has to say so."""
    try:
        return starts_like_rollouts(path)
    except SourceError:
        return True
