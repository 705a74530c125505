"""Of a key that is given twice the last one counts, as it does for the peer."""

from pathlib import Path

from tests.cli.run_files import KEYS, assert_refused, rollouts, write_run
from tests.command import run_command


def test_partial_that_is_taken_back(tmp_path: Path) -> None:
    write_run(tmp_path, done=rollouts(KEYS[:3]))
    given = ["++allow_partial_rollouts=True", "++allow_partial_rollouts=False"]
    assert_refused(run_command(["profile", "run.jsonl", *given], tmp_path), 4, "1 materialized row")
