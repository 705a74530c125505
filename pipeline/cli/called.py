"""How the command was called, and so how it can be called again."""

from __future__ import annotations

import os
import shlex
import sys

from pipeline import names


def command_line(*words: str) -> str:
    """What to type in a shell to run the command with these words, as it was run this time."""
    return shlex.join([*_program(), *map(names.shown, words)])


def _program() -> list[str]:
    return [_short(sys.executable), "-m", "rollprof"] if sys.argv[0].endswith(".py") else [_short(sys.argv[0])]


def _short(path: str) -> str:
    try:
        return min(path, os.path.relpath(path), key=len)
    except OSError:  # the working folder was removed
        return path
