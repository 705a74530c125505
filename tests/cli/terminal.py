"""The command on a terminal of its own."""

import fcntl
import os
import pty
import signal
import struct
import termios
import threading
from collections.abc import Callable
from pathlib import Path

from tests.cli.processes import Process, end_of, environment, start, wait_for, workers_of
from tests.cli.run_files import rollouts, write_run
from tests.command import Finished
from tests.runs import planned

BAR = "reading"
WORKERS = 2
LONGER_THAN_PATIENCE = 1.5
Hinder = Callable[[Process], None]


def nothing(_process: Process) -> None:
    pass


def workers_that_pause(process: Process) -> None:
    """Stops the workers of the command for longer than a second after the reading has begun."""
    wait_for(lambda: len(workers_of(process)) == WORKERS)
    workers = workers_of(process)
    for worker in workers:
        os.kill(worker, signal.SIGSTOP)
    threading.Event().wait(LONGER_THAN_PATIENCE)
    for worker in workers:
        os.kill(worker, signal.SIGCONT)


def on_terminal(
    args: list[str],
    cwd: Path,
    *,
    env: dict[str, str] | None = None,
    columns: int = 60,
    hinder: Hinder = nothing,
    at_bar: Hinder = nothing,
    bar: str = BAR,
) -> Finished:
    """What the command shows on a terminal, which is its standard output and standard error.

    Args:
        args: The arguments.
        cwd: Where it runs.
        env: More of its environment.
        columns: How wide the terminal is.
        hinder: What is done to it meanwhile.
        at_bar: What is done to it when the progress bar has appeared.
        bar: The word that the bar begins with.
    """
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = start(args, cwd, env=environment(TERM="xterm-256color", **(env or {})), stdout=its, stderr=its)
    os.close(its)
    hindering = threading.Thread(target=hinder, args=(process,))
    hindering.start()
    shown = b""
    while block := _read(ours):
        if bar.encode() in block and bar.encode() not in shown:
            at_bar(process)
        shown += block
    os.close(ours)
    hindering.join()
    return end_of(process)._replace(stdout=shown.decode().replace("\r\n", "\n"))


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


def write_run_for_workers(folder: Path, *, tasks: int = 200) -> None:
    keys = [(task, 0) for task in range(tasks)]
    write_run(folder, plan=[planned(*key) for key in keys], done=rollouts(keys, text="x" * 50_000))
