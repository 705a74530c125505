"""Where words go: results to standard output, narration to standard error."""

from __future__ import annotations

import json
import sys
from typing import Any

from pipeline.errors import FaultsError, RollprofError

SCHEMA_VERSION = 1


class Console:
    """Prints for people, or one JSON object for programs."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json = as_json
        self.quiet = quiet

    def say(self, text: str) -> None:
        """Narrates on standard error, unless quiet."""
        if not self.quiet:
            print(text, file=sys.stderr)

    def warn(self, text: str) -> None:
        """Warns on standard error, quiet or not."""
        print(f"warning: {text}", file=sys.stderr)

    def result(self, text: str) -> None:
        """Prints a part of the result for people."""
        if not self.as_json and not self.quiet:
            print(text)

    def object(self, content: dict[str, Any]) -> None:
        """Prints the result as one JSON object, where that was asked for."""
        if self.as_json:
            print(json.dumps({"schema_version": SCHEMA_VERSION, **content}, ensure_ascii=False, allow_nan=False))

    def refuse(self, error: RollprofError) -> None:
        """Says what is wrong, where, and what to do."""
        print(f"rollprof: {error}", file=sys.stderr)
        details: dict[str, Any] = {"counts": {}, "keys": {}, "places": {}}
        if isinstance(error, FaultsError):
            details = {"counts": error.counts, "keys": error.keys, "places": error.places}
        elif error.where:
            details["places"] = {error.kind: [error.where]}
        self.object(
            {
                "kind": error.kind,
                "exit_code": int(error.exit_code),
                "message": error.message,
                **details,
                "hint": error.hint,
                **error.facts,
            }
        )
