"""What happens to the command at chosen points of its work, through a module that Python runs when it starts."""

from pathlib import Path

from tests.cli.processes import environment

SITECUSTOMIZE = """
import os, signal, sys

points = {points!r}

def watch(frame, event, _):
    code = frame.f_code
    function, file, loaded = points[0]
    if event == "call" and code.co_name == function and file in code.co_filename and loaded in sys.modules:
        del points[0]
        if not points:
            sys.setprofile(None)
        {action}

if "-c" not in sys.orig_argv:  # a worker is no command
    sys.setprofile(watch)
"""


def accident_at(*points: tuple[str, str, str], action: str, folder: Path) -> dict[str, str]:
    """The environment of a command to which something happens when it calls a function.

    Args:
        points: Functions, each with a part of the name of its file and a module that must be loaded; one after another.
        action: A statement.
        folder: Where the module may be written.
    """
    place = folder / "accident"
    place.mkdir()
    (place / "sitecustomize.py").write_text(SITECUSTOMIZE.format(points=list(points), action=action))
    return environment(PYTHONPATH=str(place))
