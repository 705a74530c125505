"""What a row asks for beside the fields of the Responses format: JSON text in `metadata.extra_body`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from pipeline import names
from pipeline.sources import rows


def extra_body(params: Any, *, read: Callable[[str], Any] = json.loads) -> dict[str, Any]:
    """The object that `metadata.extra_body` of `responses_create_params` holds as text; empty where there is none.

    Args:
        params: The `responses_create_params`.
        read: Reads JSON, and raises a ValueError where there is none.

    Raises:
        BadLineError: It is something else.
    """
    metadata = rows.last(params, names.METADATA)
    if metadata is None:
        return {}
    if not isinstance(metadata, rows.OBJECTS):
        raise rows.BadLineError(f"has {rows.kind_of(metadata)} as metadata, which a seed cannot be added to")
    text = rows.last(metadata, names.EXTRA_BODY)
    try:
        body = {} if text is None else read(text)
    except (TypeError, ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise rows.BadLineError("has a metadata.extra_body that is no JSON object as text, so a seed cannot be added")
    return body
