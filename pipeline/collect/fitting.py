"""Whether a dataset and options plan what materialized inputs hold, and if not, in what they differ."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

from pipeline import names
from pipeline.collect.keyed_rows import Key, key_of, keyed_rows
from pipeline.collect.materialize import Planned
from pipeline.errors import UsageError


def check_same(path: Path, plan: Iterable[Planned]) -> None:
    """Refuses a dataset or options that would plan something else than the materialized inputs hold.

    Raises:
        UsageError: They differ; the message says in what.
        SourceError: The file cannot be read.
    """
    there = ((key_of(path, line, row), text) for line, _, text, row in keyed_rows(path))
    mine = (((one.task, one.rollout), one.line.rstrip(b"\n")) for one in plan)
    counts, first = [0, 0], ""
    for wanted, found in zip_longest(mine, there):
        counts[0] += wanted is not None
        counts[1] += found is not None
        if wanted is not None and found is not None and not first:
            first = _difference(wanted, found)
    said = [] if counts[0] == counts[1] else [f"rollouts planned: {counts[0]:,} now, {counts[1]:,} then"]
    said += [first] if first else []
    if said:
        raise UsageError(
            f"the dataset or options do not fit these materialized inputs: {'; '.join(said)}",
            where=names.shown(path),
            hint="Give those of the first time, or leave --input and options of the plan out: "
            "--resume goes by the materialized inputs.\nAnother --output starts anew.",
        )


def _difference(wanted: tuple[Key, bytes], found: tuple[Key, bytes]) -> str:
    """In what two planned rollouts differ, in words; empty where they mean the same."""
    if wanted == found:
        return ""
    at = f"{found[0][0]}:{found[0][1]}"
    if wanted[0] != found[0]:
        return f"where {at} was, {wanted[0][0]}:{wanted[0][1]} is planned now"
    changes = list(_changes(json.loads(found[1]), json.loads(wanted[1]), ""))
    return f"in {at} {', '.join(changes[:3])}" if changes else ""


def _changes(then: Any, now: Any, path: str) -> Iterator[str]:
    """The fields that differ, each with what it was and is."""
    if isinstance(then, dict) and isinstance(now, dict):
        for key in [*then, *(key for key in now if key not in then)]:
            missing = "not there"
            yield from _changes(then.get(key, missing), now.get(key, missing), f"{path}.{key}" if path else key)
    elif then != now:
        yield f"{path} was {_short(then)} and is {_short(now)} now"


def _short(value: Any) -> str:
    text = value if value == "not there" else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:39]}…"  # noqa: PLR2004 - a line of a terminal holds two of them
