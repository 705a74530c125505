"""Arguments as they are written for `gym eval profile` → ours."""

from __future__ import annotations

import os
from collections.abc import Sequence

from pipeline.errors import UsageError

OPTIONS = {
    "rollouts_jsonl_fpath": "--rollouts",
    "materialized_inputs_jsonl_fpath": "--inputs",
    "allow_partial_rollouts": "--partial",
}
TAKE_A_VALUE = frozenset(
    ("-o", "--output", "--output-dir", "-r", "--rollouts", "-i", "--inputs", "--nested", "-j", "--jobs")
)
TRUE, FALSE = frozenset({"true", "1", "yes", "on"}), frozenset({"false", "0", "no", "off"})


def translated(arguments: Sequence[str]) -> list[str]:
    """The arguments with `+key=value` and `++key=value` of the peer as options.

    Raises:
        UsageError: A key of the peer that has no equal here, or one without its plus sign.
    """
    if "profile" not in arguments[:2]:
        return list(arguments)
    ours: list[str] = []
    for position, argument in enumerate(arguments):
        key, equals, value = argument.lstrip("+").partition("=")
        plain = not argument.startswith("+")
        takes_value = position > 0 and arguments[position - 1] in TAKE_A_VALUE
        if not equals or takes_value or os.path.lexists(argument) or (plain and key not in OPTIONS):
            ours.append(argument)
        elif plain:
            raise UsageError(f"{argument} needs plus signs", hint=f"Write ++{argument}, or {_ours(key, value)}.")
        elif key not in OPTIONS:
            raise UsageError(f"{argument} is not known", hint=f"Known are {', '.join(f'+{key}=…' for key in OPTIONS)}.")
        elif key != "allow_partial_rollouts":
            ours += [OPTIONS[key], value]
        elif _is_true(key, value):
            ours.append(OPTIONS[key])
        else:
            ours = [option for option in ours if option != OPTIONS[key]]
    return ours


def _is_true(key: str, value: str) -> bool:
    if value.lower() in TRUE | FALSE:
        return value.lower() in TRUE
    raise UsageError(f"{key}={value} is neither true nor false", hint=f"Write ++{key}=true, or leave it out.")


def _ours(key: str, value: str) -> str:
    return OPTIONS[key] if key == "allow_partial_rollouts" else f"{OPTIONS[key]} {value}"
