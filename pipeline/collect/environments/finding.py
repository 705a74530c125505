"""Environments by name, or by `module:Class` from the current folder."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, cast, get_type_hints

from pipeline.collect.environments.base import Environment
from pipeline.errors import SourceError, UsageError
from pipeline.names import shown

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
        SourceError: Its module cannot be imported, or its class cannot be made.
    """
    if name not in SHIPPED and not (":" in name and name.isprintable()):
        close = get_close_matches(name, SHIPPED, n=1)
        meant = f"Did you mean {close[0]}? " if close else ""
        known = f"{', '.join(SHIPPED)} or module:Class for your own."
        raise UsageError(f"there is no environment {name!r}", hint=f"{meant}There are {known}")
    made = _class(name)
    given = dict(options or {})
    _check_options(made, given, name)
    try:
        return cast("Environment", made(**given))
    except BaseException as error:  # sys.exit() too: it would end us without a word
        kind = UsageError if name in SHIPPED else SourceError
        raise kind(f"environment {name} cannot be made: {_words_of(error, name)}") from error


def _check_options(made: type, given: Mapping[str, Any], name: str) -> None:
    """Refuses options that the class does not take; of one that is shipped, also values of another kind."""
    from pydantic import TypeAdapter, ValidationError

    try:
        signature = inspect.signature(made)
    except ValueError:  # Python does not know it of every class
        return
    try:
        signature.bind(**given)
    except TypeError as error:
        takes = ", ".join(signature.parameters) or "no options"
        raise UsageError(f"environment {name}: {error}", hint=f"It takes {takes}.") from None
    kinds = get_type_hints(made.__init__) if name in SHIPPED else {}  # type: ignore[misc]
    for option, value in given.items():
        try:
            TypeAdapter(kinds.get(option, Any)).validate_python(value, strict=True)
        except ValidationError as error:
            raise UsageError(f"environment {name}: {option}: {error.errors()[0]['msg']}") from None


def _words_of(error: BaseException, name: str) -> str:
    """What was raised, in words; what we raise ourselves needs no kind."""
    words = str(error)
    return words if name in SHIPPED else f"{type(error).__name__}{words and f': {words}'}"


def _class(name: str) -> type:
    module, _, attribute = SHIPPED.get(name, name).partition(":")
    imported = _module(module, name)
    found = getattr(imported, attribute, None)
    if not isinstance(found, type):
        what = "no class" if found is not None else "nothing"
        raise UsageError(f"{module} has {what} called {attribute!r}", hint=_hint(imported, module))
    if not callable(getattr(found, "verify", None)):
        raise UsageError(f"environment {name} has no method verify", hint="Give it verify(self, row, response) → dict.")
    return found


def _hint(imported: ModuleType, module: str) -> str:
    """What may be wrong: another module of that name was found before the one in this folder."""
    place = getattr(imported, "__file__", None)
    own = Path(*module.split("."))
    here = [path for path in (own.with_suffix(".py"), own / "__init__.py") if path.exists()]
    if here and (place is None or not here[0].samefile(place)):
        found = f"at {shown(place)}" if place else "in Python itself"
        return f"Another {module} was found first, {found}: give {shown(here[0])} another name."
    return "Write it as module:Class."


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
    except BaseException as error:  # sys.exit() too
        raise SourceError(f"environment {name} cannot be imported: {_words_of(error, name)}") from error
