"""Bytes that are kept between runs in a cache folder: found by what they were made from, checked, and bounded.

Whatever is wrong with the folder or a file in it only means that nothing is kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import time
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path

from pipeline.leftovers import undone
from pipeline.sources.files import Source, ends_digest
from pipeline.sources.readings import Request

WORTHWHILE_BYTES = 8 << 20
LARGEST_SHARE = 4
BOUND_BYTES = 4 << 30
DIGEST_BYTES = 32
SUFFIX = ".rollprof"
HALF = ".tmp"
HALF_SECONDS = 3600


def folder() -> Path:
    """`ROLLPROF_CACHE_DIR`, else `rollprof` in the user's cache folder; nowhere for a user without a home."""
    given, users = os.environ.get("ROLLPROF_CACHE_DIR"), os.environ.get("XDG_CACHE_HOME")
    try:
        return Path(given).expanduser() if given else Path(users or "~/.cache").expanduser() / "rollprof"
    except RuntimeError:
        return Path(os.devnull) / "rollprof"


def key_of(request: Request) -> str | None:
    """The name that the rows of a request are kept under, as `key_for` gives it."""
    return key_for(request.sources, request.read.__name__, request.template._asdict())


def key_for(sources: Sequence[Source], *about: object) -> str | None:
    """The name that what is made of sources is kept under; None where it is not worth it, or cannot be found again.

    A source is known by its path, size, times of change, first and last bytes.

    Args:
        sources: What it is made of.
        about: What it is and how it is made, as JSON.
    """
    if sum(source.size for source in sources) < WORTHWHILE_BYTES or any(source.held for source in sources):
        return None
    try:
        identities = [_identity(source) for source in sources]
        code = [_code(name) for name in (".", "sources", "frames")]
    except OSError:
        return None
    what = (code, about, identities)
    return hashlib.blake2b(json.dumps(what, default=str).encode(), digest_size=16).hexdigest()


def has(key: str | None) -> bool:
    """Whether something is kept under a key; whether it is whole is only seen when it is taken."""
    return key is not None and os.path.exists(_path(key))  # noqa: PTH110 - it takes every error for absence


def kept(key: str) -> bytes | None:
    """What is kept under a key; None where nothing whole is."""
    path = _path(key)
    try:
        content = path.read_bytes()
        os.utime(path)
    except OSError:
        return None
    if hashlib.blake2b(content[DIGEST_BYTES:], digest_size=DIGEST_BYTES).digest() == content[:DIGEST_BYTES]:
        return content[DIGEST_BYTES:]
    drop(key)
    return None


def keep(key: str, content: bytes | memoryview) -> None:
    """Keeps bytes under a key; what was not used for longest makes room."""
    if len(content) > BOUND_BYTES // LARGEST_SHARE:
        return
    path = _path(key)
    temporary = path.with_name(f".{secrets.token_hex(6)}{HALF}")
    with contextlib.suppress(OSError), undone(partial(temporary.unlink, missing_ok=True)):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with temporary.open("wb") as file:
            file.write(hashlib.blake2b(content, digest_size=DIGEST_BYTES).digest())
            file.write(content)
        temporary.replace(path)
        _make_room()


def drop(key: str) -> None:
    """Forgets what is kept under a key."""
    with contextlib.suppress(OSError):
        _path(key).unlink()


def _path(key: str) -> Path:
    return folder() / f"{key}{SUFFIX}"


def _identity(source: Source) -> tuple[object, ...]:
    path = os.path.realpath(source.path)
    about = source.path.stat()
    ends = ends_digest(source.path, source.size)
    return path, source.shown, source.size, source.modified, about.st_ctime_ns, about.st_ino, ends


@cache
def _code(folder_name: str) -> list[tuple[object, ...]]:
    """What tells one version of this code from another: what it kept is of no use to the other."""
    modules = sorted((Path(__file__).parents[1] / folder_name).glob("*.py"))
    return [(path.name, about.st_size, about.st_mtime_ns) for path, about in ((path, path.stat()) for path in modules)]


def _make_room() -> None:
    """Removes what was not used for longest, and what a process that was killed left half-written."""
    for path in folder().glob(f".*{HALF}"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > HALF_SECONDS:
                path.unlink()
    found = []
    for path in folder().glob(f"*{SUFFIX}"):
        with contextlib.suppress(OSError):  # another process made room too
            about = path.stat()
            found.append((about.st_mtime_ns, about.st_size, path))
    room = BOUND_BYTES
    for _, size, path in sorted(found, reverse=True):
        room -= size
        if room < 0:
            with contextlib.suppress(OSError):
                path.unlink()
