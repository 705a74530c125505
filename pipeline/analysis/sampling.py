"""Which of many tasks are taken: by lot, so many in all, and in which shares."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import polars as pl

from pipeline.errors import UsageError
from pipeline.groups import GROUP
from pipeline.profile.expressions import column

LOT_BITS = 53


def lots(tasks: pl.DataFrame, *, seed: int, purpose: str) -> pl.Series:
    """A number above 0 and below 1 for each task, which depends on seed, purpose, task and agent alone.

    So a task draws the same lot whatever is chosen from, and a smaller set is a part of a larger one.

    Args:
        tasks: Rows with `_ng_task_index` and `_agent`.
        seed: Gives other lots.
        purpose: What is drawn for; draws for several purposes have nothing to do with each other.
    """
    begun = hashlib.blake2b(f"{seed} {purpose} ".encode(), digest_size=8)
    drawn = []
    for task, agent in tasks.select(GROUP).iter_rows():
        one = begun.copy()
        one.update(f"{task} {agent or ''}".encode())
        drawn.append((int.from_bytes(one.digest(), "big") >> (64 - LOT_BITS)) + 0.5)
    return pl.Series("_lot", drawn, dtype=pl.Float64) / 2.0**LOT_BITS


def drawn(tasks: pl.DataFrame, number: int, *, seed: int, purpose: str) -> pl.DataFrame:
    """So many of the tasks, those with the lowest lots, in their order."""
    if number >= len(tasks):
        return tasks
    return _lowest(tasks.with_columns(lots(tasks, seed=seed, purpose=purpose)), number)


def shared_out(
    tasks: pl.DataFrame, field: str, shares: Mapping[str, Fraction], *, size: int | None, seed: int
) -> tuple[pl.DataFrame, dict[str, int]]:
    """Tasks of each value of a field by their shares, those with the lowest lots, in their order.

    Args:
        tasks: What is chosen from.
        field: The column with the values.
        shares: The share of each value.
        size: How many in all; None for as many as the shares allow.
        seed: Gives other lots.

    Returns:
        The tasks, and for each value that has too few how many are wanting.
    """
    known = {value: tasks.filter(column(field) == value) for value in shares}
    wanted = quotas({value: len(of_value) for value, of_value in known.items()}, shares, size=size)
    rows = tasks.with_row_index("_row").with_columns(lots(tasks, seed=seed, purpose="size"))
    taken = [_lowest(rows.filter(column(field) == value), number) for value, number in wanted.items()]
    short = {value: number - len(known[value]) for value, number in wanted.items() if number > len(known[value])}
    return pl.concat([rows.clear().drop("_lot"), *taken]).sort("_row").drop("_row"), short


def quotas(available: Mapping[str, int], shares: Mapping[str, Fraction], *, size: int | None) -> dict[str, int]:
    """How many tasks of each value are wanted.

    Each value has the whole part of its share of the size; what remains goes one by one to the largest fractions, of
    equal ones to those that are named first (the method of largest remainders). A value that has too few is not made
    up for by others: that would change the shares.

    Args:
        available: How many tasks of each value there are.
        shares: The share of each value; they sum to 1.
        size: How many in all; None for the most with which no value has too few.
    """
    if size is None:
        size = min((math.floor(available[value] / share) for value, share in shares.items()), default=0)
    exact = {value: share * size for value, share in shares.items()}
    whole = {value: math.floor(number) for value, number in exact.items()}
    rest = sorted(shares, key=lambda value: whole[value] - exact[value])
    for value in rest[: size - sum(whole.values())]:
        whole[value] += 1
    return whole


def equal_shares(values: Sequence[str]) -> dict[str, Fraction]:
    """The same share for each value."""
    return {value: Fraction(1, len(values)) for value in values}


def ratio_of(text: str) -> tuple[str, dict[str, Fraction]]:
    """The field and the shares that a text such as `domain=math:0.7,code:0.3` means; they are scaled to sum to 1.

    Raises:
        UsageError: It is no such text.
    """
    field, _, named = text.partition("=")
    shares: dict[str, Fraction] = {}
    for part in named.split(","):
        value, _, share = part.rpartition(":")
        try:
            given = Fraction(share)
        except (ValueError, ZeroDivisionError):
            given = Fraction(0)
        if not field or not value or value in shares or given <= 0:
            hint = "Write it like domain=math:0.7,code:0.3; every value once, every share above 0."
            raise UsageError(f"--ratio {text!r} is no ratio: look at {part!r}", hint=hint)
        shares[value] = given
    total = sum(shares.values())
    return field, {value: share / total for value, share in shares.items()}


def _lowest(tasks: pl.DataFrame, number: int) -> pl.DataFrame:
    """The rows with the lowest lots in their order, without the lots."""
    rank = pl.col("_lot").rank("ordinal")
    return tasks.filter(rank <= number).drop("_lot")
