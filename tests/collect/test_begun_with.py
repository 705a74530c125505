"""A collection goes on with the model and the seed that it was begun with."""

from pathlib import Path

import pytest

from pipeline.collect.begun_with import Settings, check_begun_with, keep
from pipeline.errors import SourceError, UsageError
from pipeline.names import is_beside_a_run
from tests.cli.processes import run
from tests.cli.run_files import assert_refused, contents_of
from tests.collect.datasets import rollouts_of, row, write_dataset

DEMO: Settings = {"model": "demo", "seed": 0}


def checked(folder: Path, settings: Settings | None) -> None:
    check_begun_with(folder / "r_begun_with.json", settings, rollouts=Path("r.jsonl"))


@pytest.mark.parametrize("settings", [DEMO, {"seed": 0, "model": "demo"}, None])
def test_the_same_settings_and_unknown_ones_go_on(settings: Settings | None, tmp_path: Path) -> None:
    checked(tmp_path, DEMO)  # there is no file
    keep(tmp_path / "r_begun_with.json", DEMO)
    checked(tmp_path, settings)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"model": "demo", "seed": 5}, "was begun with --seed 0, and would go on with --seed 5"),
        ({"model": "other"}, "was begun with --model demo --seed 0, and would go on with --model other"),
    ],
)
def test_others_are_refused_with_what_differs(settings: Settings, said: str, tmp_path: Path) -> None:
    keep(tmp_path / "r_begun_with.json", DEMO)
    with pytest.raises(UsageError, match=said) as refused:
        checked(tmp_path, settings)
    assert "--model demo --seed 0" in refused.value.hint


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff"])
def test_a_damaged_file_is_named(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "r_begun_with.json").write_bytes(content)
    with pytest.raises(SourceError, match="does not say"):
        checked(tmp_path, DEMO)


def test_nothing_known_leaves_nothing(tmp_path: Path) -> None:
    keep(tmp_path / "r_begun_with.json", DEMO)
    keep(tmp_path / "r_begun_with.json", None)
    assert list(tmp_path.iterdir()) == []


def test_it_is_never_taken_for_rollouts() -> None:
    assert is_beside_a_run("out_begun_with.json")


def test_a_resumed_collection_is_not_mixed(tmp_path: Path) -> None:
    rows = [row(f"{one} + 1?", agent=None, expected_answer=str(one + 1)) for one in range(6)]
    write_dataset(tmp_path, rows)
    begin = ["collect", "-i", "data.jsonl", "-o", "out.jsonl", "--environment", "numeric_answer"]
    resume = ["collect", "-o", "out.jsonl", "--environment", "numeric_answer", "--resume"]
    assert run([*begin, "--demo-faults", "errors=always:0.5", "--max-attempts", "1"], tmp_path).exit_code == 0
    finished = rollouts_of(tmp_path)
    assert 0 < len(finished) < 6
    before = contents_of(tmp_path)
    refused = run([*resume, "--max-attempts", "3", "--seed", "7"], tmp_path)
    assert_refused(refused, 2, "out.jsonl: was begun with --seed 0, and would go on with --seed 7")
    assert contents_of(tmp_path) == before
    (tmp_path / "out_begun_with.json").unlink()  # as a run of the peer
    assert run([*resume, "--max-attempts", "3", "--seed", "7"], tmp_path).exit_code == 0
    assert len(rollouts_of(tmp_path)) == 6


def test_where_nothing_finished_another_model_may_begin(tmp_path: Path) -> None:
    write_dataset(tmp_path, [row("1 + 1?", agent=None, expected_answer="2")])
    asked = ["collect", "-o", "out.jsonl", "--environment", "numeric_answer"]
    failing = ["--demo-faults", "errors=always:1", "--max-attempts", "1"]
    assert run([*asked, "-i", "data.jsonl", *failing], tmp_path).exit_code == 3
    assert run([*asked, "--resume", "--seed", "7"], tmp_path).exit_code == 0
    assert b'"seed": 7' in (tmp_path / "out_begun_with.json").read_bytes()
