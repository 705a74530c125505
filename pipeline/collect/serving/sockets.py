"""Ports that are held before anything is served: a port in use is told at once."""

from __future__ import annotations

import errno
import os
import socket

from pipeline.errors import SourceError

BACKLOG = 2048


def listening(host: str, port: int, *, option: str) -> socket.socket:
    """A socket that listens at a port; 0 for a free one.

    Args:
        host: The address.
        port: The port.
        option: What the user changes to have another one.

    Raises:
        SourceError: The port is taken, or the address is none of this machine.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:
        raise SourceError(f"{host!r} is no address of this machine: {error}", hint="Give another --host.") from error
    opened = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":  # a port just left can be used again at once; elsewhere this would share it
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
        opened.listen(BACKLOG)
    except OSError as error:
        opened.close()
        hint = f"Give another one with {option}, 0 for a free one."
        if error.errno == errno.EADDRINUSE:
            raise SourceError(f"port {port} of {host} is in use", hint=hint) from error
        if error.errno == errno.EADDRNOTAVAIL:
            raise SourceError(f"{host!r} is no address of this machine", hint="Give another --host.") from error
        raise SourceError(f"cannot listen at port {port} of {host}: {error.strerror}", hint=hint) from error
    return opened


def port_of(opened: socket.socket) -> int:
    """The port a socket listens at."""
    port: int = opened.getsockname()[1]
    return port
