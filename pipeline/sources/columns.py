"""Python numbers → plain buffers that travel between processes and become columns without a copy."""

from __future__ import annotations

import math
import struct
from array import array
from collections.abc import Iterable
from typing import Any, NamedTuple

WHOLE, DOUBLE = "q", "d"


class Column(NamedTuple):
    """One column of a chunk.

    Attributes:
        typecode: `WHOLE` for 64-bit whole numbers, `DOUBLE` for doubles.
        values: The numbers.
        rows: Which row of the chunk each is of, in 32 bits; None where they are those of all rows in order.
    """

    typecode: str
    values: bytes
    rows: bytes | None


class Block:
    """Rows that have the same metrics in the same order, each as a whole number or each as a double.

    Their numbers are packed as they come, for many numbers that Python has to hold are slow.

    Attributes:
        metrics: What the numbers of a row are.
        typecodes: `WHOLE` or `DOUBLE` for each of them.
        rows: Which rows of the chunk.
        cells: Their numbers, 8 bytes each, row after row.
        pack: Turns the numbers of a row into cells.
    """

    __slots__ = ("cells", "metrics", "pack", "rows", "typecodes")

    def __init__(self, metrics: tuple[tuple[str, str], ...], typecodes: str) -> None:
        self.metrics = metrics
        self.typecodes = typecodes
        self.rows = array("i")
        self.cells = bytearray()
        self.pack = struct.Struct(f"={typecodes}").pack

    def pack_wide(self, numbers: Iterable[Any]) -> bytes:
        """The cells of a row some of whose whole numbers are in doubles; one beyond a double is an infinity."""
        pairs = zip(self.typecodes, numbers, strict=True)
        return self.pack(*(_as_double(number) if code == DOUBLE else number for code, number in pairs))

    def numbers(self, place: int, typecode: str) -> bytes:
        """The numbers of the metric at a place, of one of the types that hold them."""
        own = self.typecodes[place]
        found = memoryview(self.cells).cast("d" if own == DOUBLE else "q")[place :: len(self.metrics)]
        return found.tobytes() if own == typecode else array(typecode, found).tobytes()


def columns(blocks: Iterable[Block], height: int) -> dict[tuple[str, str], Column]:
    """Each metric as a column over the rows of a chunk; one that is a double in any row is in doubles.

    Args:
        blocks: The numbers of the rows.
        height: How many rows there are.
    """
    found: dict[tuple[str, str], dict[Block, int]] = {}
    for block in blocks:
        for place, metric in enumerate(block.metrics):
            found.setdefault(metric, {})[block] = place  # of paths that are written alike the last one counts
    rows: dict[tuple[Block, ...], bytes] = {}
    made = {}
    for metric, places in found.items():
        typecode = DOUBLE if any(block.typecodes[place] == DOUBLE for block, place in places.items()) else WHOLE
        values = b"".join(block.numbers(place, typecode) for block, place in places.items())
        which = tuple(places)
        if which not in rows:  # the same for many metrics, and sent once
            rows[which] = b"".join(block.rows.tobytes() for block in which)
        in_order = len(which) == 1 and len(which[0].rows) == height
        made[metric] = Column(typecode, values, None if in_order else rows[which])
    return made


def _as_double(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf
