"""The text of a dataset row → the same text with what one more model made of it in `reward_profiles`."""

from __future__ import annotations

import json
from typing import Any

from pipeline.sources import rows
from pipeline.sources.text import elements, members

PROFILES = "reward_profiles"
MODEL = "model_hf_path"


def with_reward_profile(line: bytes, entry: dict[str, Any]) -> bytes:
    """The row with an entry at the end of its `reward_profiles`; every other byte stays.

    An entry of the same model is replaced where it stands (the last of several), so that doing it twice changes
    nothing. A row without the list, or with null for it, gets one.

    Args:
        line: Valid JSON text of an object.
        entry: The entry; `model_hf_path` says whose it is.

    Raises:
        BadLineError: `reward_profiles` is something else.
    """
    found = list(members(line))
    spaced = not found or line[found[0].value - 1 : found[0].value] == b" "
    comma, colon = (", ", ": ") if spaced else (",", ":")
    text = json.dumps(entry, ensure_ascii=False, separators=(comma, colon)).encode()
    mine = [member for member in found if member.key == PROFILES]
    if not mine:
        at = found[-1].end if found else line.index(b"{") + 1
        key = f"{comma if found else ''}{json.dumps(PROFILES)}{colon}".encode()
        return line[:at] + key + b"[" + text + b"]" + line[at:]
    start, end = mine[-1].value, mine[-1].end
    if line[start:end] == b"null":
        return line[:start] + b"[" + text + b"]" + line[end:]
    if line[start : start + 1] != b"[":
        raise rows.BadLineError(f"has a {PROFILES} that is no list")
    return _with_entry(line, start, text, entry[MODEL], comma.encode())


def _with_entry(line: bytes, start: int, text: bytes, model: str, comma: bytes) -> bytes:
    """The row with an entry in the list that begins at `start`."""
    there = list(elements(line, start))
    for first, last in reversed(there):
        known = json.loads(line[first:last])
        if isinstance(known, dict) and known.get(MODEL) == model:
            return line[:first] + text + line[last:]
    if there:
        return line[: there[-1][1]] + comma + text + line[there[-1][1] :]
    return line[: start + 1] + text + line[start + 1 :]
