"""What the worker processes of a test do."""

import os
import signal
import sys
import time
from pathlib import Path

from pipeline.errors import SourceError

REFUSED, BROKEN, KILLED, LEFT, NO_PICKLE = "refused", "broken", "killed", "left", "no pickle"


def squared(job: int) -> int:
    """Later jobs are done sooner."""
    time.sleep(0.02 * (5 - job) if job < 5 else 0)
    return job * job


def process_id(_job: int) -> int:
    time.sleep(0.05)
    return os.getpid()


def obey(job: str) -> object:
    """Ends in the way that the job says, or says the job."""
    if job == REFUSED:
        raise SourceError("cannot be read", where="file:7", hint="Mend it.")
    if job == BROKEN:
        raise ZeroDivisionError("by nought")
    if job == KILLED:
        os.kill(os.getpid(), signal.SIGKILL)
    if job == LEFT:
        os._exit(7)
    return (lambda: None) if job == NO_PICKLE else job


def loaded_modules(_job: int) -> list[str]:
    return sorted(sys.modules)


def large(job: int) -> bytes:
    return bytes([job]) * (1 << 20)


def made(path: str) -> str:
    """The path of a file that is made."""
    Path(path).touch()
    return path
