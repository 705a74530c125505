"""Arguments as they are written for `gym eval profile` and `gym eval run` → ours."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from pipeline.errors import UsageError

FLAGS = frozenset({"--partial", "--resume", "--num-repeats-add-seed"})
PROFILE = {
    "rollouts_jsonl_fpath": "--rollouts",
    "materialized_inputs_jsonl_fpath": "--inputs",
    "allow_partial_rollouts": "--partial",
}
COLLECT = {
    "input_jsonl_fpath": "--input",
    "output_jsonl_fpath": "--output",
    "agent_name": "--agent",
    "num_repeats": "--num-repeats",
    "num_repeats_add_seed": "--num-repeats-add-seed",
    "limit": "--limit",
    "num_samples_in_parallel": "--concurrency",
    "resume_from_cache": "--resume",
    "responses_create_params.temperature": "--temperature",
    "responses_create_params.top_p": "--top-p",
    "responses_create_params.max_output_tokens": "--max-output-tokens",
    "policy_model_name": "--model",
    "policy_base_url": "--model-url",
}
OPTIONS: dict[tuple[str, ...], Mapping[str, str]] = {
    ("profile",): PROFILE,
    ("eval", "profile"): PROFILE,
    ("collect",): COLLECT,
    ("eval", "run"): COLLECT,
}
TAKE_A_VALUE = frozenset(
    ("-o", "--output", "--output-dir", "-r", "--rollouts", "-i", "--inputs", "--input", "--nested", "-j", "--jobs")
)
TRUE, FALSE = frozenset({"true", "1", "yes", "on"}), frozenset({"false", "0", "no", "off"})


def translated(arguments: Sequence[str]) -> list[str]:
    """The arguments with `+key=value` and `++key=value` of the peer as options.

    Raises:
        UsageError: A key of the peer that has no equal here, or one without its plus sign.
    """
    known = next((keys for words, keys in OPTIONS.items() if tuple(arguments[: len(words)]) == words), None)
    if known is None:
        return list(arguments)
    ours: list[str] = []
    for position, argument in enumerate(arguments):
        key, equals, value = argument.lstrip("+").partition("=")
        plain = not argument.startswith("+")
        takes_value = position > 0 and arguments[position - 1] in TAKE_A_VALUE
        if not equals or takes_value or os.path.lexists(argument) or (plain and key not in known):
            ours.append(argument)
        elif plain:
            raise UsageError(f"{argument} needs plus signs", hint=f"Write ++{argument}, or {_ours(known[key], value)}.")
        elif key not in known:
            raise UsageError(f"{argument} is not known", hint=f"Known are {', '.join(f'+{key}=…' for key in known)}.")
        elif known[key] not in FLAGS:
            ours += _given(known[key], value)
        elif _is_true(key, value):
            ours.append(known[key])
        else:
            ours = [option for option in ours if option != known[key]]
    return ours


def _given(option: str, value: str) -> Iterator[str]:
    """An option with its value; repeats by agent, which the peer writes `{a:4,b:2}`, as several."""
    if option == "--num-repeats" and value.startswith("{") and value.endswith("}"):
        for part in value[1:-1].split(","):
            name, _, number = part.rpartition(":")
            yield from (option, f"{name.strip()}={number.strip()}")
    else:
        yield from (option, value)


def _is_true(key: str, value: str) -> bool:
    if value.lower() in TRUE | FALSE:
        return value.lower() in TRUE
    raise UsageError(f"{key}={value} is neither true nor false", hint=f"Write ++{key}=true, or leave it out.")


def _ours(option: str, value: str) -> str:
    return option if option in FLAGS else f"{option} {value}"
