"""Seeded dumps of rollouts with the inputs they were planned from.

`python -m tests.bench.dumps KIND OUT.jsonl MB` writes OUT.jsonl and OUT_materialized_inputs.jsonl.
"""

from __future__ import annotations

import argparse
import os
import sys
from itertools import islice
from math import inf
from pathlib import Path
from random import Random
from typing import NamedTuple

import orjson

from tests.bench.rows import KINDS, Kind, Row, pairs

_LATE_ROW = 50_000
_LATE_SHARE = 0.75
_BUFFER = 1 << 20


class Dump(NamedTuple):
    """A dump on disk; `keys` and `metrics` are means a rollout."""

    kind: Kind
    rollouts: Path
    inputs: Path
    size: int
    inputs_size: int
    rows: int
    tasks: int
    keys: float
    metrics: float

    def __str__(self) -> str:
        """One line for people."""
        return (
            f"{self.kind}: {self.rows} rows of {self.tasks} tasks, {self.size} bytes "
            f"({self.size // max(self.rows, 1)} a row), inputs {self.inputs_size} bytes, "
            f"a row has {self.keys:.1f} keys and {self.metrics:.1f} metrics"
        )


def write_dump(kind: Kind, rollouts: Path, *, megabytes: float = inf, rows: int | None = None, seed: int = 1) -> Dump:
    """Write `megabytes` (of 10^6 bytes) of rollouts, or `rows` of them, and their inputs beside them.

    From the 50 000th row or three quarters of the bytes on, whichever comes first, rows have one metric more
    (not in `many`, which is numbers of one shape).
    """
    inputs = rollouts.with_name(f"{rollouts.stem}_materialized_inputs.jsonl")
    late = Random(seed)
    goal = megabytes * 1e6
    size = inputs_size = written = keys = metrics = tasks = 0
    with rollouts.open("wb", _BUFFER) as rollouts_file, inputs.open("wb", _BUFFER) as inputs_file:
        for planned, rollout in islice(pairs(kind, seed=seed), rows):
            if size >= goal:
                break
            if kind != "many" and (written >= _LATE_ROW or size > goal * _LATE_SHARE):
                rollout["late_metric"] = late.random()
            size += rollouts_file.write(orjson.dumps(rollout, option=orjson.OPT_APPEND_NEWLINE))
            inputs_size += inputs_file.write(orjson.dumps(planned, option=orjson.OPT_APPEND_NEWLINE))
            written += 1
            tasks += rollout["_ng_rollout_index"] == 0
            keys += len(rollout)
            metrics += _metrics(rollout) + _metrics(rollout["response"]["usage"])
        for file in (rollouts_file, inputs_file):
            file.flush()
            os.fsync(file.fileno())
    shares = keys / max(written, 1), metrics / max(written, 1)
    return Dump(kind, rollouts, inputs, size, inputs_size, written, tasks, *shares)


def _metrics(fields: Row) -> int:
    return sum(isinstance(value, int | float) for name, value in fields.items() if name[0] != "_")


def _main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.dumps", description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("out", type=Path, help="the rollouts file; the inputs are written beside it")
    parser.add_argument("megabytes", type=float, help="size of the rollouts file in 10^6 bytes")
    parser.add_argument("--rows", type=int, help="stop after this many rollouts")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    dump = write_dump(asked.kind, asked.out, megabytes=asked.megabytes, rows=asked.rows, seed=asked.seed)
    sys.stdout.write(f"{dump}\n")


if __name__ == "__main__":
    _main()
