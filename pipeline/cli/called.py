"""How the command was called, and so how it can be called again."""

from __future__ import annotations

import os
import sys


def program() -> list[str]:
    """The words that run the command here."""
    return [_short(sys.executable), "-m", "rollprof"] if sys.argv[0].endswith(".py") else [_short(sys.argv[0])]


def command() -> str:
    """How the user called the command."""
    return "rollprof" if sys.argv[0].endswith(".py") else _short(sys.argv[0])


def _short(path: str) -> str:
    try:
        return min(path, os.path.relpath(path), key=len)
    except OSError:  # the working folder was removed
        return path
