"""What a worker process runs. It starts once for every core, so it imports nothing that its jobs do not need."""

from __future__ import annotations

import os
import pickle
import sys
from typing import Any

from pipeline.errors import RollprofError, WorkerError
from pipeline.sources import inputs, rollouts  # noqa: F401 - imported before the first job comes


def serve() -> None:
    """What a worker process does: jobs from standard input, results to standard output, until the input ends."""
    inbox, outbox = sys.stdin.buffer, sys.stdout.buffer
    while True:
        try:
            work, job = pickle.load(inbox)
        except (EOFError, OSError):  # the parent has ended
            return
        try:
            result: Any = work(job)
        except RollprofError as error:
            result = error
        except Exception as error:  # noqa: BLE001 - told to the parent, which raises it
            result = WorkerError(f"a worker failed: {type(error).__name__}: {error}")
        try:
            pickle.dump(result, outbox, protocol=pickle.HIGHEST_PROTOCOL)
            outbox.flush()
        except OSError:  # the parent has ended
            os._exit(1)
