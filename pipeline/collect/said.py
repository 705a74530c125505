"""What an answer says of what went wrong: `{"error": {"class", "type", "message"}}`, or `{"error": "in words"}`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

ERROR = "error"
SHOWN = 2000
"""Characters of a text that are kept."""
CLASS = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")


def error_in(body: bytes) -> dict[str, Any]:
    """The error in a body; words alone are its message; empty where there is none."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    error = found.get(ERROR) if isinstance(found, dict) else None
    if isinstance(error, str) and error:
        return {"message": error}
    return error if isinstance(error, dict) else {}


def class_in(said: Mapping[str, Any]) -> str | None:
    """The failure class that an error names, if it is one."""
    text = text_in(said, "class")
    return text if text and CLASS.fullmatch(text) else None


def text_in(said: Mapping[str, Any], key: str) -> str | None:
    """The start of a text that an error has; None where it has none."""
    value = said.get(key)
    return value[:SHOWN] if isinstance(value, str) and value else None
