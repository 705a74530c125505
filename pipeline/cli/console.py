"""Where words go: results to standard output, narration to standard error."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO

from pipeline.errors import FaultsError, RollprofError, SourceError

SCHEMA_VERSION = 1


class Console:
    """Prints for people, or one JSON object for programs.

    A reader that is gone has seen enough, and narration that nobody can hear is left out; a result that cannot be
    written is an error.
    """

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json = as_json
        self.quiet = quiet

    def say(self, text: str) -> None:
        """Narrates on standard error, unless quiet."""
        if not self.quiet:
            _narrate(text)

    def warn(self, text: str) -> None:
        """Warns on standard error, quiet or not."""
        _narrate(f"warning: {text}")

    def result(self, text: str) -> None:
        """Prints a part of the result for people."""
        if not self.as_json and not self.quiet:
            _print(text)

    def object(self, content: dict[str, Any]) -> None:
        """Prints the result as one JSON object, where that was asked for."""
        if self.as_json:
            _print(json.dumps({"schema_version": SCHEMA_VERSION, **content}, allow_nan=False))

    def refuse(self, error: RollprofError) -> None:
        """Says what is wrong, where, and what to do."""
        _narrate(f"rollprof: {error}")
        if error.answered:
            return
        with contextlib.suppress(SourceError):  # the exit code is that of the refusal
            self.object({**refusal_facts(error), **error.facts})


def refusal_facts(error: RollprofError) -> dict[str, Any]:
    """A refusal for programs."""
    details: dict[str, Any] = {"counts": {}, "keys": {}, "places": {}}
    if isinstance(error, FaultsError):
        details = {"counts": error.counts, "keys": error.keys, "places": error.places}
    elif error.where:
        details["places"] = {error.kind: [error.where]}
    about = {"kind": error.kind, "exit_code": int(error.exit_code), "message": error.message, "hint": error.hint}
    return {**about, **details}


def prepare_streams() -> None:
    """Makes standard streams that are closed lead nowhere, and letters that an encoding lacks be escaped.

    Standard input is not made an empty file, which would be a run without rollouts.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
            if number == 0:
                _make_unreadable(number)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _make_unreadable(number: int) -> None:
    """Makes a descriptor one that nobody can read by its path."""
    import socket

    one, other = socket.socketpair()
    os.dup2(one.fileno(), number)
    one.close()
    other.close()


def flush_result() -> None:
    """Writes what Python still holds of the result.

    Raises:
        SourceError: It cannot be written.
    """
    if sys.stdout is not None:
        _written(sys.stdout, "")


def print_bytes(content: bytes) -> None:
    """Writes a result as it is to standard output.

    Raises:
        SourceError: It cannot be written.
    """
    if sys.stdout is None:
        return
    sys.stdout.flush()
    with _telling(sys.stdout):
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()


def _print(text: str) -> None:
    if sys.stdout is not None:
        _written(sys.stdout, f"{text}\n")


def _written(stream: TextIO, text: str) -> None:
    with _telling(stream):
        stream.write(text)
        stream.flush()


@contextlib.contextmanager
def _telling(stream: TextIO) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        _lead_nowhere(stream)
    except OSError as error:
        _lead_nowhere(stream)
        hint = "Files that were asked for were written before."
        raise SourceError(f"cannot be written: {error.strerror}", where="standard output", hint=hint) from error


def _narrate(text: str) -> None:
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
    except OSError:
        _lead_nowhere(sys.stderr)


def _lead_nowhere(stream: TextIO) -> None:
    """Whatever else is written there, or is still held, goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
