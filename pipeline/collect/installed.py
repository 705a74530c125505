"""Whether the packages of the extra `collect` are there."""

from __future__ import annotations

import shlex
import sys
from importlib.util import find_spec

from pipeline.errors import SourceError

PACKAGES = {"aiohttp": "aiohttp", "fastapi": "FastAPI", "uvicorn": "uvicorn"}
"""What is imported → what it is called."""


def need_extra(command: str) -> None:
    """Makes sure that a command has what it needs.

    Raises:
        SourceError: A package is missing.
    """
    missing = [name for module, name in PACKAGES.items() if find_spec(module) is None]
    if missing:
        install = f"{shlex.quote(sys.executable)} -m pip install --editable '.[collect]'"
        raise SourceError(
            f"{command} needs {', '.join(missing)}, not installed here",
            hint=f"Install the extra, from the repository's root: {install}",
        )
