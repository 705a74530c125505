"""What is written is JSON in UTF-8: a line that cannot be written as it is, is refused or mended."""

from pathlib import Path

import pytest

from pipeline.errors import Exit, FaultsError
from tests.runs import finished, jsonl, planned, profile_files

BOM = b"\xef\xbb\xbf"


def test_a_byte_order_mark_within_a_file(tmp_path: Path) -> None:
    inputs = jsonl([planned()]) + BOM + jsonl([planned(1)])
    found = profile_files(tmp_path, [inputs], [[finished(reward=1), finished(1, reward=1)]])
    assert (
        isinstance(found, FaultsError) or [row["sample"] for row in found.tasks] == [{"agent_ref": {"name": "a"}}] * 2
    )


def test_two_byte_order_marks(tmp_path: Path) -> None:
    found = profile_files(tmp_path, [BOM * 2 + jsonl([planned()])], [[finished(reward=1)]])
    assert isinstance(found, FaultsError) or [row["sample"] for row in found.tasks] == [{"agent_ref": {"name": "a"}}]


@pytest.mark.parametrize("text", [b"\xed\xa0\x80", b"\xed\xb0\x80", b"\xed\xa0\xbd\xed\xb8\x80"])
@pytest.mark.parametrize("role", ["inputs", "rollouts"])
def test_a_surrogate_as_utf_8_is_not_utf_8(text: bytes, role: str, tmp_path: Path) -> None:
    contents = {"inputs": jsonl([planned(text="?")]), "rollouts": jsonl([finished(text="?")])}
    contents[role] = contents[role].replace(b"?", text)
    found = profile_files(tmp_path, [contents["inputs"]], [contents["rollouts"]])
    assert isinstance(found, FaultsError)
    assert found.exit_code == Exit.UNREADABLE
