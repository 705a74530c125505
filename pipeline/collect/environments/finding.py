"""Environments by name, or by `module:Class` from the current folder."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Any, cast

from pipeline.collect.environments.base import Environment
from pipeline.errors import SourceError, UsageError

SHIPPED = {
    "multiple_choice": "pipeline.collect.environments.multiple_choice:MultipleChoice",
    "numeric_answer": "pipeline.collect.environments.numeric_answer:NumericAnswer",
}
"""Name → where its class is."""


def environment(name: str, options: Mapping[str, Any] | None = None) -> Environment:
    """Makes the environment of that name.

    Args:
        name: One that is shipped, or `module:Class` of a module in the current folder or installed.
        options: Keyword arguments of its class.

    Raises:
        UsageError: There is none of that name, or it does not take these options.
        SourceError: Its module cannot be imported.
    """
    if name not in SHIPPED and ":" not in name:
        close = get_close_matches(name, SHIPPED, n=1)
        meant = f"Did you mean {close[0]}? " if close else ""
        known = f"{', '.join(SHIPPED)} or module:Class for your own."
        raise UsageError(f"there is no environment {name!r}", hint=f"{meant}There are {known}")
    made = _class(name)
    given = dict(options or {})
    try:
        inspect.signature(made).bind(**given)
    except TypeError as error:
        takes = ", ".join(inspect.signature(made).parameters) or "no options"
        raise UsageError(f"environment {name}: {error}", hint=f"It takes {takes}.") from None
    try:
        found = made(**given)
    except Exception as error:
        raise UsageError(f"environment {name} cannot be made: {type(error).__name__}: {error}") from error
    return cast("Environment", found)


def _class(name: str) -> type:
    module, _, attribute = SHIPPED.get(name, name).partition(":")
    found = getattr(_module(module, name), attribute, None)
    if not isinstance(found, type):
        what = "no class" if found is not None else "nothing"
        raise UsageError(f"{module} has {what} called {attribute!r}", hint="Write it as module:Class.")
    if not callable(getattr(found, "verify", None)):
        raise UsageError(f"environment {name} has no method verify", hint="Give it verify(self, row, response) → dict.")
    return found


def _module(module: str, name: str) -> Any:
    here = os.getcwd()  # noqa: PTH109 - the import system takes text
    if name not in SHIPPED and here not in sys.path:
        sys.path.append(here)  # the last place: a folder of data must not hide an installed package
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise SourceError(f"environment {name} cannot be imported: {error}") from error
        hint = f"It is looked for in {here} and among the installed packages."
        raise UsageError(f"environment {name}: there is no module {error.name!r}", hint=hint) from None
    except Exception as error:
        raise SourceError(f"environment {name} cannot be imported: {type(error).__name__}: {error}") from error
