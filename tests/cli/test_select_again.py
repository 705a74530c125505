"""What `select` writes is collected again and profiled without an edit in between."""

import json
import shutil
from pathlib import Path

from tests.cli.run_files import tasks_of
from tests.command import run_command

ROOT = Path(__file__).parents[2]
ENVIRONMENT = "sample_data/demo/env.yaml"


def run(folder: Path, *words: str) -> str:
    done = run_command(words, folder)
    assert done.exit_code == 0, done.stderr
    return done.stderr


def test_select_collect_profile_select(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "sample_data", tmp_path / "sample_data")
    run(tmp_path, "select", "sample_data/complete", "--pass-rate", "0.2:0.8", "--size", "6", "-o", "set.jsonl")
    chosen = (tmp_path / "set.jsonl").read_bytes().splitlines()
    assert len(chosen) == 6
    collect = ("eval", "run", "--config", ENVIRONMENT, "--num-repeats", "4", "--num-repeats-add-seed")
    run(tmp_path, *collect, "--temperature", "0.7", "--input", "set.jsonl", "--output", "again.jsonl")
    run(tmp_path, "profile", "again.jsonl")
    profiled = tasks_of(tmp_path, "again")
    assert [task["num_rollouts"] for task in profiled] == [4] * 6
    assert [task["sample"]["uuid"] for task in profiled] == [json.loads(line)["uuid"] for line in chosen]

    again = ("select", "again.jsonl", "--keep-no-signal")
    told = run(tmp_path, *again, "-o", "samples.jsonl")
    assert "every row has max_output_tokens 480, temperature 0.7" in told
    assert "6 of 6 rows pin a seed" in told
    run(tmp_path, *again, "--dataset", "set.jsonl", "-o", "lines.jsonl")
    assert (tmp_path / "lines.jsonl").read_bytes() == (tmp_path / "set.jsonl").read_bytes()


def test_a_row_with_profiles_is_collected_again_and_keeps_them(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "sample_data", tmp_path / "sample_data")
    chosen = ("--size", "3", "--write-back", "-o", "first.jsonl")
    run(tmp_path, "select", "sample_data/complete", *chosen)
    collect = ("eval", "run", "--config", ENVIRONMENT, "--num-repeats", "4")
    run(tmp_path, *collect, "--input", "first.jsonl", "--output", "again.jsonl")
    back = ("--write-back", "--model", "another/model", "-o", "second.jsonl")
    run(tmp_path, "select", "again.jsonl", "--keep-no-signal", "--dataset", "first.jsonl", *back)
    rows = [json.loads(line) for line in (tmp_path / "second.jsonl").read_bytes().splitlines()]
    models = [[entry["model_hf_path"] for entry in row["reward_profiles"]] for row in rows]
    assert models == [["demo", "another/model"]] * 3
