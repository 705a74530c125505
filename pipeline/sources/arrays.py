"""A file that is one JSON array where one object a line is wanted."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from pipeline import names
from pipeline.errors import SourceError
from pipeline.sources.files import Source
from pipeline.sources.lines import BYTE_ORDER_MARK, lines_of, open_plain
from pipeline.sources.rows import SPACE

HEAD_BYTES = 4096
NAMELESS = ("/dev/", "/proc/")
UNPACKED = {"gz": "gzip -dc", "zst": "zstd -dc"}


def check_no_arrays(sources: Iterable[Source]) -> None:
    """Refuses files that are one JSON array.

    Raises:
        SourceError: One is; the hint makes lines of it.
    """
    for source in sources:
        if is_array(source):
            raise array_refusal(source)


def array_refusal(source: Source) -> SourceError:
    """The refusal of a file that is one JSON array: how to make lines of it under the name that a run wants."""
    message = "is one JSON array, where one object a line is wanted"
    return SourceError(message, where=source.shown, hint=f"Make lines of it: {_command(source)}")


def is_array(source: Source) -> bool:
    """Whether a file is one JSON array of objects, on a line or on many.

    A line that holds a list among other lines is no such file: it is told of with its place.
    """
    if not source.is_dump or not _starts_like_one(source):
        return False
    try:
        filled = (bytes(view).strip(SPACE) for _, view, _ in lines_of(source.whole()))
        first, *others = islice(filter(None, filled), 2)
    except (SourceError, ValueError):  # reading it says what is wrong with it
        return False
    return not (others and first.endswith(b"]"))


def _starts_like_one(source: Source) -> bool:
    try:
        with open_plain(str(source.path), source.compression) as file:
            head = file.read(HEAD_BYTES).removeprefix(BYTE_ORDER_MARK).lstrip(SPACE)
    except Exception:  # noqa: BLE001 - each decompressor has errors of its own, and reading it says which
        return False
    return head.startswith(b"[") and head[1:].lstrip(SPACE).startswith(b"{")


def _command(source: Source) -> str:
    """What makes lines of an array, which is kept under another name where the lines need its own."""
    if source.shown.startswith(NAMELESS):
        return "jq -c '.[]'"
    stem = names.stem_of(source.path)
    lines = names.sibling(stem, ".jsonl")
    if lines != source.path and lines.exists():
        lines = names.sibling(stem, "_lines.jsonl")
    kept = source.path if lines != source.path else names.sibling(stem, "_array.json")
    away = f"mv {names.quoted(source.path)} {names.quoted(kept)} && " if kept != source.path else ""
    unpacked = f"{UNPACKED[source.compression]} {names.quoted(kept)} | jq" if source.compression else "jq"
    read = "" if source.compression else f" {names.quoted(kept)}"
    return f"{away}{unpacked} -c '.[]'{read} > {names.quoted(lines)}"
