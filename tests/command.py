"""The command, run as its users run it.

With `ROLLPROF_TESTS_IN_PROCESS=1` in the environment it runs in the process of the tests, which is quicker.
An exception that the command does not handle is then the test's.
"""

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import rollprof

TIMEOUT_SECONDS = 120


class Finished(NamedTuple):
    """What a command left behind."""

    exit_code: int
    stdout: str
    stderr: str


def run_command(args: Sequence[str], cwd: Path) -> Finished:
    """Run `rollprof` with arguments in a folder."""
    if os.environ.get("ROLLPROF_TESTS_IN_PROCESS") == "1":
        return _run_here(args, cwd)
    done = subprocess.run(
        [sys.executable, "-m", "rollprof", *args],
        cwd=cwd,
        capture_output=True,
        check=False,
        timeout=TIMEOUT_SECONDS,
    )
    return Finished(done.returncode, _text(done.stdout), _text(done.stderr))


def _run_here(args: Sequence[str], cwd: Path) -> Finished:
    stdout, stderr = io.BytesIO(), io.BytesIO()
    with (
        contextlib.chdir(cwd),
        mock.patch.object(sys, "argv", ["rollprof", *args]),
        contextlib.redirect_stdout(io.TextIOWrapper(stdout, "utf-8", write_through=True)),
        contextlib.redirect_stderr(io.TextIOWrapper(stderr, "utf-8", write_through=True)),
    ):
        exit_code = _exit_code_of_module()
        sys.stdout.flush()
        sys.stderr.flush()
        return Finished(exit_code, _text(stdout.getvalue()), _text(stderr.getvalue()))


def _exit_code_of_module() -> int:
    try:
        rollprof.main()
    except SystemExit as end:
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _text(output: bytes) -> str:
    return output.decode("utf-8", "replace")
