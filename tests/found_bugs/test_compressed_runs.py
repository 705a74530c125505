"""Compressed files are found and read whole: their size on disk says nothing about their text."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from pipeline.sources.files import find_run, open_source
from tests.runs import Profile, finished, jsonl, planned, profile_sources

PACKS = {"gz": gzip.compress, "zst": zstandard.compress}
LONG = {"text": "a" * 1000}


@pytest.mark.parametrize("suffix", PACKS)
@pytest.mark.parametrize("fields", [{}, LONG])
def test_compressed_rollouts_are_found_in_a_folder(suffix: str, fields: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / f"run.jsonl.{suffix}"
    path.write_bytes(PACKS[suffix](jsonl([finished(reward=1, **fields)])))
    found = find_run([tmp_path], inputs_wanted=False)
    assert [source.path for source in found.rollouts] == [path]


@pytest.mark.parametrize("pack", PACKS.values(), ids=PACKS)
def test_samples_come_from_anywhere_in_a_compressed_file(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    plan, rollouts = tmp_path / "plan", tmp_path / "rollouts"
    plan.write_bytes(pack(jsonl([planned(task, **LONG) for task in range(20)])))
    rollouts.write_bytes(jsonl([finished(task, reward=1) for task in range(20)]))
    profile = profile_sources(tmp_path, [open_source(plan)], [open_source(rollouts)])
    assert isinstance(profile, Profile)
    assert [row["sample"] for row in profile.tasks] == [{"agent_ref": {"name": "a"}} | LONG] * 20
