"""What must not outlive the process, however it ends: temporary files and worker processes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

_undo: dict[int, Callable[[], object]] = {}
_said = ["nothing was changed"]
_waiting: list[Callable[[], object]] = []
_undisturbed = [False]


@contextlib.contextmanager
def undone(undo: Callable[[], object]) -> Iterator[None]:
    """Calls `undo` at the end of the block, or when a signal ends the process inside it."""
    key = remember(undo)
    try:
        yield
    finally:
        try:
            undo()
        finally:
            _undo.pop(key, None)


def remember(undo: Callable[[], object]) -> int:
    """Has `undo` called when a signal ends the process; the key takes it back with `forget`."""
    key = id(undo)
    _undo[key] = undo
    return key


def forget(key: int) -> None:
    """Takes back what `remember` said."""
    _undo.pop(key, None)


def undo_all() -> None:
    """Undoes everything that is still to be undone; each failure is one thing left, not a reason to leave the rest."""
    for undo in list(_undo.values()):
        with contextlib.suppress(OSError):
            undo()


def say_at_the_end(words: str) -> None:
    """What is so when the process ends from now on."""
    _said.append(words)


def what_is_so() -> str:
    """What there is to say of the outputs when the process ends."""
    return _said[-1]


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """A block that a signal does not end in the middle, but at its end."""
    _undisturbed[0] = True
    try:
        yield
    finally:
        _undisturbed[0] = False
        while _waiting:
            _waiting.pop()()


def waits(end: Callable[[], object]) -> bool:
    """Whether what ends the process has to wait for an undisturbed block; it is then called at the end of that."""
    if _undisturbed[0]:
        _waiting.append(end)
    return _undisturbed[0]
