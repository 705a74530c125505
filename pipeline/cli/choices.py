"""The words that options take."""

from __future__ import annotations

from enum import StrEnum


class Masked(StrEnum):
    """What happens to rollouts with a truthy mask_sample."""

    exclude = "exclude"
    include = "include"


class OnDuplicate(StrEnum):
    """What happens to rollouts that share a key."""

    error = "error"
    first = "first"
    last = "last"


class OnExtra(StrEnum):
    """What happens to rollouts that were never planned."""

    error = "error"
    drop = "drop"


class OnBadLine(StrEnum):
    """What happens to lines that cannot be used."""

    error = "error"
    skip = "skip"


class Format(StrEnum):
    """How a table is written."""

    table = "table"
    csv = "csv"
    json = "json"
    jsonl = "jsonl"
    md = "md"
    parquet = "parquet"


class Pair(StrEnum):
    """What is compared with what."""

    task = "task"
    rollout = "rollout"
