"""YAML → values: the files that people write, and what a head server says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipeline import names
from pipeline.errors import SourceError


def read_yaml(path: Path, *, hint: str) -> dict[Any, Any]:
    """The keys in a YAML file; an empty one has none.

    Args:
        path: The file.
        hint: How such a file is written.

    Raises:
        SourceError: It cannot be read, or holds no keys.
    """
    where = names.shown(path)
    try:
        content = yaml_value(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror or error}", where=where, hint="Name another.") from error
    except ValueError as error:
        raise SourceError(f"is no YAML: {' '.join(str(error).split())}", where=where, hint=hint) from error
    if content is not None and not isinstance(content, dict):
        raise SourceError("holds no keys", where=where, hint=hint)
    return content or {}


def yaml_value(text: str) -> Any:
    """The value that a YAML document holds.

    Raises:
        ValueError: It holds none.
    """
    import yaml

    try:
        return yaml.safe_load(text)
    # A value that does not fit its kind, such as the date 2026-13-45, comes out as any of the errors of Python.
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, TypeError, OverflowError, RecursionError) as error:
        raise ValueError(str(error) or type(error).__name__) from error
