"""The command's first step: makes sure that `pipeline` and `queries` are this project's own, then runs it.

Both names exist on package indexes and in people's folders, so this module bears a name of its own.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import NoReturn

OWN = ("pipeline", "queries")
SELDOM = 100_000
"""New objects before a garbage collection: nearly all are modules' and rows', which are no garbage."""
HINT = "Another package of that name comes first: mend PYTHONPATH, or use a clean environment."


def foreign_packages() -> list[str]:
    """A sentence for each package that would be imported from somewhere else than beside this file."""
    here = Path(__file__).resolve().parent
    faults = []
    for name in OWN:
        found = _place_of(name)
        if found is None:  # nothing, or a folder of data, which is no package
            sys.path.insert(0, str(here))
            found = _place_of(name)
        if found is None or found.parent.parent != here:
            faults.append(f"the package {name} that Python finds is {found or 'not there'}, not {here / name}")
    return faults


def _place_of(name: str) -> Path | None:
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).resolve() if spec and spec.origin else None


def main() -> None:
    """Runs `rollprof`, or says which package stands in its way."""
    faults = foreign_packages()
    if faults:
        message = "\n".join(faults)
        print(f"rollprof: {message}\n  {HINT}", file=sys.stderr)
        if "--json" in sys.argv:
            told = {"schema_version": 1, "kind": "foreign_package", "exit_code": 3, "message": message, "hint": HINT}
            print(json.dumps(told | {"counts": {}, "keys": {}, "places": {}}))
        sys.exit(3)
    from pipeline.cli.signals import ended_by_signals

    with ended_by_signals():
        from pipeline.cli.early import start_early
        from pipeline.leftovers import undo_all

        try:
            start_early(sys.argv[1:])
            from pipeline.cli.main import main as run

            run()
        finally:
            undo_all()


def command() -> NoReturn:
    """Runs `rollprof` as the process's only work; its memory is left to the system, which takes 0.1 s less."""
    gc.set_threshold(SELDOM)
    try:
        main()
    except SystemExit as ended:
        if not isinstance(ended.code, int):
            raise
        for stream in filter(None, (sys.stdout, sys.stderr)):
            with contextlib.suppress(OSError, ValueError):  # whoever read it has gone
                stream.flush()
        os._exit(ended.code)
    sys.exit(0)


if __name__ == "__main__":
    command()
