"""What a collection was begun with: kept beside its rollouts, so that those of another model are not mixed in.

Only what is known to make other rollouts is kept: the model's name, and the seed of the demo model. Where agents are
asked that run already, nothing is known and nothing is kept; collections without this file go on unchecked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from pipeline import names
from pipeline.errors import SourceError, UsageError
from pipeline.output.files import whole_files

Settings = Mapping[str, str | int]
"""Options without their dashes, and their values."""


def keep(path: Path, settings: Settings | None) -> None:
    """Writes what a collection begins with; removes the file of an earlier one where nothing is known.

    Raises:
        SourceError: The file cannot be written.
    """
    if settings is None:
        path.unlink(missing_ok=True)
        return
    with whole_files(path) as (file,):
        file.write(json.dumps(settings).encode() + b"\n")


def check_begun_with(path: Path, settings: Settings | None, *, rollouts: Path) -> None:
    """Refuses to go on with other settings than those of the beginning, where both are known.

    Raises:
        UsageError: They differ; the message says in what.
        SourceError: The file cannot be read.
    """
    if settings is None or not path.exists():
        return
    then = _read(path)
    different = [name for name in (*then, *settings) if then.get(name) != settings.get(name)]
    if different:
        was, now = (_options(one, dict.fromkeys(different)) for one in (then, settings))
        raise UsageError(
            f"was begun with {was or 'neither'}, and would go on with {now or 'neither'}",
            where=names.shown(rollouts),
            hint=f"Go on with {_options(then, then)}; another --output starts anew.",
        )


def _read(path: Path) -> Settings:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict):
        hint = "Remove it to go on without looking at the model and the seed."
        raise SourceError("does not say what the collection was begun with", where=names.shown(path), hint=hint)
    return found


def _options(settings: Settings, wanted: Mapping[str, object]) -> str:
    """Settings as they are typed."""
    return " ".join(f"--{name} {settings[name]}" for name in wanted if name in settings)
