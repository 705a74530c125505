"""Apps at their ports, until a signal ends them all."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import socket
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any

from pipeline.collect.open_files import MANY, SHORT, allowed
from pipeline.collect.serving.sockets import BACKLOG
from pipeline.errors import Exit, UsageError

if TYPE_CHECKING:
    from fastapi import FastAPI
    from uvicorn import Server

ENDING = ("SIGINT", "SIGTERM", "SIGHUP")
STDIN = 0
BLOCK_BYTES = 1 << 16
LOOK_SECONDS = 0.005
GRACE_SECONDS = 1
LAST_SECONDS = 3.0
SIGNALLED = 128
KEEP_ALIVE_SECONDS = 75
"""Longer than clients keep a connection, so that none is closed while a request is on its way."""
SILENT = 100
"""Above every level of logging: what is to be said is said by the command."""


End = Callable[[int], None]


async def run_until_signalled(
    apps: list[FastAPI],
    held: list[socket.socket],
    *,
    ready: Callable[[], None],
    with_stdin: bool,
    tell: Callable[[str], None],
) -> int:
    """Serves each app at its socket; returns the number of the signal that ended it.

    Requests under way get a second to end, and are then cut; an environment that holds up everything is, with the
    process, two seconds later.

    Args:
        apps: The apps.
        held: A socket for each.
        ready: Called once, when every port answers.
        with_stdin: Whether to end when standard input does; the number is then 0.
        tell: Called with a sentence for people when something unexpected goes wrong.

    Raises:
        UsageError: Standard input is nothing that can be watched.
    """
    asyncio.get_running_loop().set_exception_handler(_told(tell, files=allowed(MANY)))
    servers = [_server(app) for app in apps]
    with _ending() as (ended, end):
        if with_stdin:
            _end_with_stdin(end)
        serving = [asyncio.ensure_future(one.serve([opened])) for one, opened in zip(servers, held, strict=True)]
        try:
            while not all(server.started for server in servers):
                await asyncio.sleep(LOOK_SECONDS)
                for one in serving:
                    if one.done():
                        one.result()
            ready()
            return await ended
        finally:
            # What waited for a free file is tried once more at sockets that are closed by now.
            asyncio.get_running_loop().set_exception_handler(lambda *_: None)
            for server in servers:
                server.should_exit = True
            await asyncio.gather(*serving)


def _told(tell: Callable[[str], None], *, files: int) -> Callable[[asyncio.AbstractEventLoop, dict[str, Any]], None]:
    """What to do with errors that nobody waits for: they are told, those of too few files once."""
    said: set[str] = set()

    def handle(_loop: asyncio.AbstractEventLoop, about: dict[str, Any]) -> None:
        error = about.get("exception")
        words = f"unexpected {type(error).__name__}: {error}" if error is not None else str(about.get("message"))
        if isinstance(error, OSError) and error.errno in SHORT:
            words = f"connections wait: only {files} files may be open, and each is one; raise that with ulimit -n"
        if words not in said:
            said.add(words)
            tell(words)

    return handle


def _server(app: FastAPI) -> Server:
    import uvicorn

    class QuietServer(uvicorn.Server):
        """One that leaves signals to the command."""

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    return QuietServer(
        uvicorn.Config(
            app,
            log_config=None,
            log_level=SILENT,
            access_log=False,
            lifespan="off",
            ws="none",
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=GRACE_SECONDS,
            backlog=BACKLOG,
        )
    )


def _end_with_stdin(end: End) -> None:
    """Ends the servers when whoever holds the other end of standard input is gone, however it went.

    A thread watches: environments may hold up everything else.

    Raises:
        UsageError: It is nothing that ends with somebody.
    """
    mode = os.fstat(STDIN).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(STDIN)):
        raise UsageError("--exit-with-stdin needs a pipe or a terminal as standard input")

    def watch() -> None:
        while True:
            try:
                select.select([STDIN], [], [])  # a terminal is not read while it belongs to somebody else
                if not os.read(STDIN, BLOCK_BYTES):
                    break
            except BlockingIOError:
                continue
            except OSError:  # the terminal went away
                break
        end(0)

    threading.Thread(target=watch, name="standard input", daemon=True).start()


def _cut_off(code: int) -> None:
    """Ends the process soon, if it has not ended itself by then."""

    def wait() -> None:
        time.sleep(LAST_SECONDS)
        os._exit(code)

    threading.Thread(target=wait, name="cut off", daemon=True).start()


@contextmanager
def _ending() -> Iterator[tuple[asyncio.Future[int], End]]:
    """The number of the first signal that ends the servers, and what ends them; an ignored signal stays so.

    Python's own handlers are used: they run even while an environment holds up the event loop.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[int] = loop.create_future()

    def settle(number: int) -> None:
        if not ended.done():
            ended.set_result(number)

    def end(number: int, _frame: FrameType | None = None) -> None:
        _cut_off(SIGNALLED + number if number else int(Exit.DONE))
        with suppress(RuntimeError):  # the servers have stopped already
            loop.call_soon_threadsafe(settle, int(number))

    before = {}
    for name in ENDING:
        number = getattr(signal, name, None)
        if number is not None and (handler := signal.getsignal(number)) not in {signal.SIG_IGN, None}:
            before[number] = handler
            signal.signal(number, end)
    try:
        yield ended, end
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
