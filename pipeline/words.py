"""Numbers of things in words."""

from __future__ import annotations


def counted(number: int, thing: str, things: str = "") -> str:
    """A number of things: 1 task, 2 tasks.

    Args:
        number: How many there are.
        thing: What one of them is called.
        things: What several are called, where that is not the same with an s.
    """
    return f"{number:,} {thing if number == 1 else things or f'{thing}s'}"
