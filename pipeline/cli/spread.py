"""Options that several commands share: a dataclass is a group of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import wraps
from typing import Any, cast, get_type_hints


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """The command with each parameter that is a dataclass replaced by the dataclass's fields, as the parser sees it."""
    signature = inspect.signature(command, eval_str=True)
    annotations: dict[str, Any] = {name: one.annotation for name, one in signature.parameters.items()}
    groups = {name: cast("type[Any]", one) for name, one in annotations.items() if is_dataclass(one)}
    shown: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        shown += _parameters(groups[name]) if name in groups else [parameter]

    @wraps(command)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        command(**given)

    del run.__wrapped__  # else the parser looks at the command's own parameters
    arguments = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in shown]
    run.__signature__ = inspect.Signature(arguments)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in shown}
    return run


def _parameters(group: type[Any]) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=_default(field), annotation=hints[field.name]
        )
        for field in fields(group)
    ]


def _default(field: Field[Any]) -> Any:
    return inspect.Parameter.empty if field.default is MISSING else field.default
