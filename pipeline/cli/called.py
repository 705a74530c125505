"""How the command was called, and so how it can be called again."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from pipeline import names


def command_line(*words: str | Path) -> str:
    """What to type in a shell to run the command with these words, as it was run this time."""
    arguments = (names.argument(word) if isinstance(word, Path) else word for word in words)
    return shlex.join([*_program(), *map(names.shown, arguments)])


def as_called(text: str, commands: Iterable[str]) -> str:
    """The text, in which these commands, written `rollprof COMMAND`, are as they would be typed this time.

    Those that are told with a path or as Python's module are that already.
    """
    words = "|".join(sorted({command.split()[0] for command in commands}))
    return re.sub(rf"(?<![\w/.-])(?<!-m )rollprof (?=(?:{words})\b)", lambda _found: f"{command_line()} ", text)


def going_on(*, max_attempts: int | None = None) -> str:
    """What to type to go on with the collection that this is, with other attempts if these are said."""
    words = sys.argv[1:]
    if "--resume" not in words:
        words = [*words, "--resume"]
    if max_attempts is not None:
        words = [*_without("--max-attempts", words), "--max-attempts", str(max_attempts)]
    return command_line(*words)


def _without(option: str, words: Sequence[str]) -> list[str]:
    """The words without an option and its value."""
    return [
        word
        for before, word in zip(["", *words], words, strict=False)
        if option not in {before, word} and not word.startswith(f"{option}=")
    ]


def _program() -> list[str]:
    return [_short(sys.executable), "-m", "rollprof"] if sys.argv[0].endswith(".py") else [_short(sys.argv[0])]


def _short(path: str) -> str:
    try:
        return min(path, os.path.relpath(path), key=len)
    except OSError:  # the working folder was removed
        return path
