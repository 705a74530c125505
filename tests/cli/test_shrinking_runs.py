"""Rollouts that were there at the start and are gone when they are read are no rollouts that never finished."""

from pathlib import Path

from tests.cli.moments import release, start_and_hold
from tests.cli.processes import end_of
from tests.cli.run_files import assert_refused, write_run


def test_a_file_that_became_shorter(tmp_path: Path) -> None:
    path = write_run(tmp_path)
    process, pipe = start_and_hold(tmp_path, "--partial")
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))
    release(pipe, tmp_path)
    assert_refused(end_of(process), 3, "run.jsonl", "was changed while it was being profiled")
