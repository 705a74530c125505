"""YAML → values: the files that people write, and what a head server says."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline import names
from pipeline.errors import SourceError, UsageError

if TYPE_CHECKING:
    from yaml import MappingNode, Node, SafeLoader, ScalarNode

DEEPEST = 50
"""Levels; what people write has five."""


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


def unknown_key(place: str, known: Sequence[str], *, where: str) -> UsageError:
    """The refusal of a key that means nothing, with the one that may be meant.

    Args:
        place: The key, behind those that it stands in: agents.math.modle.
        known: The keys that may stand there.
        where: The file.
    """
    close = get_close_matches(place.rpartition(".")[2], known, n=1)
    meant = f"Did you mean {close[0]}? " if close else ""
    return UsageError(f"{place} is no key", where=where, hint=f"{meant}There are {', '.join(known)}.")


def yaml_value(text: str) -> Any:
    """The value that a YAML document holds.

    Raises:
        ValueError: It holds none.
    """
    import yaml

    try:
        return yaml.load(text, Loader=_loader())  # noqa: S506 - it is a safe one
    # A value that does not fit its kind, such as the date 2026-13-45, comes out as any of the errors of Python.
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, TypeError, OverflowError, RecursionError) as error:
        raise ValueError(str(error) or type(error).__name__) from error


@cache
def _loader() -> type[SafeLoader]:
    """PyYAML's safe loader, which takes no doubled keys, no halves of letters, and no nesting without end."""
    import yaml
    from yaml.composer import ComposerError

    class Loader(yaml.SafeLoader):
        """It looks at every node when it is read."""

        depth = 0

        def compose_node(self, parent: Node | None, index: int) -> Node | None:
            self.depth += 1
            if self.depth > DEEPEST:
                raise ComposerError(None, None, f"it is nested deeper than {DEEPEST}", self.peek_event().start_mark)  # type: ignore[no-untyped-call]
            node = super().compose_node(parent, index)
            self.depth -= 1
            return node

        def compose_scalar_node(self, anchor: Any) -> ScalarNode:
            node = super().compose_scalar_node(anchor)
            try:  # JSON writes rare letters as two halves
                node.value = node.value.encode("utf-16", "surrogatepass").decode("utf-16")
            except UnicodeDecodeError:
                raise ComposerError(None, None, "half a letter stands there", node.start_mark) from None
            return node

        def compose_mapping_node(self, anchor: Any) -> MappingNode:
            node = super().compose_mapping_node(anchor)
            seen = set()
            for key, _ in node.value:
                if isinstance(key, yaml.ScalarNode) and (key.tag, key.value) in seen:
                    raise ComposerError(None, None, f"the key {key.value!r} stands there twice", key.start_mark)
                seen.add((key.tag, str(key.value)))
            return node

    return Loader
