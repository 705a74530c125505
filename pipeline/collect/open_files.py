"""How many files this process may have open: every connection is one."""

from __future__ import annotations

import errno
import resource

SHORT = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
"""What the system says where it has none left."""

MANY = 1 << 16
"""More than are ever open here: nobody knows how many callers come, and how many connections wait."""


def allowed(wanted: int) -> int:
    """How many may be open, after this process's own limit was raised to what is wanted or the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if most > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return most
