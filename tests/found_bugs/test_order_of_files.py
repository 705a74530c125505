"""Files are one run in the order in which they were first named: `--on-duplicate first` goes by it."""

from pathlib import Path

from pipeline.sources.files import find_run
from tests.runs import finished, jsonl


def test_a_file_named_again_keeps_its_place(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_bytes(jsonl([finished(reward=1)]))
    (tmp_path / "again.jsonl").symlink_to("a.jsonl")
    named = [tmp_path / f"{name}.jsonl" for name in ("a", "b", "again")]
    found = find_run(named, inputs_wanted=False)
    assert [source.path for source in found.rollouts] == named[:2]
