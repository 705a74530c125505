"""What the READMEs say is so: their commands run, and give what is shown."""

import json
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pipeline
from pipeline.cli import main
from pipeline.frames.lazy import collect
from tests.collect.env_process import served
from tests.command import run_command

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
SAMPLES = (ROOT / "sample_data/README.md").read_text()


def blocks(text: str, language: str) -> list[str]:
    parts = text.split("```")[1::2]
    return [part.removeprefix(f"{language}\n") for part in parts if part.startswith(f"{language}\n")]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the sample data and the files that the README shows, as the commands find them."""
    shutil.copytree(ROOT / "sample_data", tmp_path / "sample_data")
    for name, language in (("grader.py", "py"), ("capitals.jsonl", "jsonl")):
        (content,) = blocks(README, language)
        (tmp_path / name).write_text(content)
    return tmp_path


@pytest.mark.parametrize("example", blocks(README, "python"))
def test_the_python_examples_run(example: str, checkout: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", example],
        cwd=checkout,
        env={"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout
    assert ("write_profile" in example) == (checkout / "out_run_reward_profiling.jsonl").exists()


def problems_of(folder: Path, row: dict[str, object], rollout: dict[str, object]) -> int:
    """How many faults a run of these two lines has."""
    (folder / "rollouts_materialized_inputs.jsonl").write_text(json.dumps(row))
    (folder / "rollouts.jsonl").write_text(json.dumps(rollout))
    return len(collect(pipeline.open_run(folder).aligned.problems))


def test_the_shown_lines_are_a_run_and_need_no_more_than_it_says(tmp_path: Path) -> None:
    (shown,) = blocks(README, "json")
    row, rollout = map(json.loads, shown.splitlines())
    assert problems_of(tmp_path, row, rollout) == 0
    (told,) = collect(pipeline.open_run(tmp_path).rollouts).to_dicts()
    assert (told["reward"], told["correct"], told["total_tokens"], told["_input.domain"]) == (1, 1, 23, "products")
    needed = {"_ng_task_index", "_ng_rollout_index"}
    for place, one in enumerate((row, rollout)):
        for field in one:
            lines = [row, rollout]
            lines[place] = {name: value for name, value in one.items() if name != field}
            assert (problems_of(tmp_path, *lines) > 0) == (field in needed), field


COMMANDS = [line.partition("  #")[0] for line in "".join(blocks(README, "sh")).split("\n") if "sample_data" in line]


OURS = [command for command in COMMANDS if command.startswith(".venv/bin/rollprof")]
SERVING = " env start "


@pytest.mark.parametrize("command", [command for command in OURS if SERVING in command])
def test_the_servers_start(command: str, checkout: Path) -> None:
    with served(*command.split()[3:], cwd=checkout) as servers:
        assert servers.agents


@pytest.mark.parametrize("command", [command for command in OURS if SERVING not in command])
def test_the_commands_run(command: str, checkout: Path) -> None:
    words = shlex.split(command)
    done = run_command(words[1:], checkout)
    assert done.exit_code == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("steps", blocks(README, "bash"))
def test_commands_that_build_on_each_other_run_in_their_order(steps: str, checkout: Path) -> None:
    for command in steps.splitlines():
        words = shlex.split(command, comments=True)
        assert words[0] == ".venv/bin/rollprof"
        done = run_command(words[1:], checkout)
        assert done.exit_code == 0, done.stderr


def test_the_shown_grader_lets_the_demo_be_right_and_wrong(checkout: Path) -> None:
    asked = ["--environment", "grader:Capitals", "--input", "capitals.jsonl", "--output", "r.jsonl", "-n", "16"]
    done = run_command(["collect", *asked, "--json"], checkout)
    assert done.exit_code == 0, done.stderr
    assert 0 < json.loads(done.stdout)["reward_mean_now"] < 1
    assert "cannot know" not in done.stderr


def test_the_notebook_runs(checkout: Path) -> None:
    outputs, found = runpy.run_path(str(checkout / "sample_data/questions.py"))["app"].run()
    assert len(outputs) > 0
    assert found["lengths"]["rollouts"].sum() == len(collect(found["run"].rollouts))


def test_the_shown_summary_is_what_is_printed(checkout: Path) -> None:
    (shown,) = [block for block in blocks(README, "") if block.startswith("$ ")]
    command, *lines = shown.rstrip().removesuffix("…").rstrip().split("\n")
    done = run_command(command.split()[2:], checkout)
    assert done.exit_code == 0
    assert done.stdout.split("\n")[: len(lines)] == lines


def test_the_figures_of_the_comparison_are_what_is_printed(checkout: Path) -> None:
    told = run_command(["compare", "sample_data/complete", "sample_data/candidate"], checkout).stdout
    printed = re.findall(r"(?:fell by |^Lost +-|of which -|^Truncated +\+)([0-9.]+)", told, re.MULTILINE)
    (sentence,) = re.findall(r"Here the reward fell[^:]+:", README)
    assert [f"{float(figure):.3f}" for figure in printed] == re.findall(r"0\.\d+", sentence)


@pytest.mark.parametrize("command", re.findall(r"\.venv/bin/rollprof (profile sample_data[^`\n#]*)", SAMPLES))
def test_the_commands_for_the_samples_run(command: str, checkout: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", f'"{sys.executable}" -m rollprof {command}'],
        cwd=checkout,
        env={"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_every_option_is_in_the_help(tmp_path: Path) -> None:
    helped = "".join(run_command([*command.split(), "--help"], tmp_path).stdout for command in main.COMMANDS)
    for option in set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", README)):
        assert option in helped


def test_every_make_target_is_there() -> None:
    targets = set(re.findall(r"`?make ([a-z]+)", README))
    made = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert targets <= made
