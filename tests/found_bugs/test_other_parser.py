"""Where the parser that serves without the wheel gives other answers."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sources.nasty_rows import as_read, row

ROOT = Path(__file__).parents[2]
LINES = {
    "index just below 64 bits": b'{"_ng_task_index":1,"_ng_rollout_index":-9223372036854775809}',
    "agent is a very large number": row(b'"agent_ref":12345678901234567890123'),
    "agent is a very small number": row(b'"agent_ref":-12345678901234567890123'),
    "byte order mark within a file": b"\xef\xbb\xbf" + row(b'"m":1'),
    "lower-case nan": row(b'"m":nan,"n":1'),
    "inf": row(b'"m":inf,"n":1'),
    "minus NaN": row(b'"m":-NaN,"n":1'),
}


@pytest.mark.parametrize("name", LINES)
def test_the_other_parser_gives_the_same(name: str, tmp_path: Path) -> None:
    path = tmp_path / "rollouts.jsonl"
    path.write_bytes(b"\n" + LINES[name] + b"\n")
    command = [sys.executable, "-m", "tests.sources.nasty_rows", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    assert json.loads(done.stdout) == as_read(path)
