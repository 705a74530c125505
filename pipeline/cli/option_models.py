"""Options as models, and what is wrong with an option in words."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from pipeline.analysis.plain import plain_number
from pipeline.errors import UsageError

BOUNDS = (("gt", "above"), ("ge", "at least"), ("lt", "below"), ("le", "at most"))
Options = TypeVar("Options", bound=BaseModel)


def model_of(model: type[Options], command: str, **given: Any) -> Options:
    """The model with what was given.

    Args:
        model: The model; its fields are called like the options.
        command: The command whose help says more.
        **given: The values.

    Raises:
        UsageError: A value is out of range; the option and its bounds are named.
    """
    try:
        return model(**given)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        value, bounds = first["input"], _bounds(model.model_fields[name])
        shown = plain_number(value) if isinstance(value, float) else value
        wrong = f"--{name.replace('_', '-')} {shown}"
        if bounds:
            raise UsageError(f"{wrong} is out of range", hint=f"It is {bounds}.") from error
        raise UsageError(f"{wrong}: {first['msg']}", hint=f"See rollprof {command} --help.") from error


def _bounds(field: FieldInfo) -> str:
    """The bounds of a field in words."""
    told = [
        f"{words} {getattr(bound, kind)}" for bound in field.metadata for kind, words in BOUNDS if hasattr(bound, kind)
    ]
    return " and ".join(told)
