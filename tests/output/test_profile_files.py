"""The three files of a profile: all of them or none, whatever fails while they are made."""

import os
from pathlib import Path

import pytest

from pipeline.output import profile_files
from tests.runs import align_files, finished, plan_of, profiled

ROWS = [finished(task, rollout, reward=task / 3 + rollout) for task in range(5) for rollout in range(3)]


def test_what_fails_beside_the_tasks_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise MemoryError("no room")

    found = align_files(tmp_path, [plan_of(ROWS)], [ROWS])
    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr(profile_files, "profile_agents", fails)
    with pytest.raises(MemoryError, match="no room"):
        profile_files.write_profile(found.frame, tmp_path / "out")
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("batch", [1, 2, 1000])
def test_batches_change_no_byte(batch: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = profiled(tmp_path, plan_of(ROWS), ROWS)
    monkeypatch.setattr(profile_files, "BATCH_TASKS", batch)
    assert profiled(tmp_path, plan_of(ROWS), ROWS).contents == plain.contents


def test_a_member_may_be_null_in_some_batches_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [finished(task, 0, reward=1, **({"odd": task} if task % 3 else {})) for task in range(9)]
    monkeypatch.setattr(profile_files, "BATCH_TASKS", 2)
    tasks = profiled(tmp_path, plan_of(rows), rows).tasks
    assert [task.get("mean/odd") for task in tasks] == [row.get("odd") for row in rows]
    assert [task["rollout_infos"][0].get("odd") for task in tasks] == [row.get("odd") for row in rows]


@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="this system takes no such hint")
def test_the_system_may_refuse_the_hint_to_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = profiled(tmp_path, plan_of(ROWS), ROWS)
    asked = []

    def refuse(*about: int) -> None:
        asked.append(about[1:3])
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(os, "posix_fadvise", refuse)
    assert profiled(tmp_path, plan_of(ROWS), ROWS).contents == plain.contents
    assert asked == [(0, len(plain.contents[0]))]
