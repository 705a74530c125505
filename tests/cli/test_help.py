"""The help names every option, in a terminal of any width."""

import re
from pathlib import Path

import pytest
import typer

from pipeline.cli.main import application
from tests.cli.processes import environment, run
from tests.command import run_command

OPTIONS = {
    *("--rollouts", "--inputs", "--output", "--output-dir", "--partial", "--allow-partial-rollouts"),
    *("--masked", "--on-duplicate", "--on-extra", "--on-bad-line", "--nested", "--counts"),
    *("--rollouts-only", "--assign-indices", "--min-completion", "--jobs", "--json", "--quiet", "--help"),
}


def declared() -> list[str]:
    """The options of `profile`, as the parser knows them."""
    context = typer.main.get_command(application()).make_context("rollprof", ["profile"], resilient_parsing=True)
    profile = context.command.get_command(context, "profile")  # type: ignore[attr-defined]
    return [name for parameter in profile.params for name in parameter.opts if name.startswith("-")]


@pytest.mark.parametrize("command", [["profile"], ["eval", "profile"]], ids=" ".join)
def test_every_option_is_in_the_help(command: list[str], tmp_path: Path) -> None:
    done = run_command([*command, "--help"], tmp_path)
    assert (done.exit_code, done.stderr) == (0, "")
    words = set(done.stdout.replace(",", " ").replace("[", " ").split())
    assert words >= OPTIONS
    assert words >= set(declared())


@pytest.mark.parametrize("columns", ["20", "200"])
def test_a_narrow_terminal_cuts_nothing(columns: str, tmp_path: Path) -> None:
    done = run(["profile", "--help"], tmp_path, env=environment(COLUMNS=columns, TERM="xterm"))
    assert done.exit_code == 0
    assert "…" not in done.stdout
    assert "reward_profiling.jsonl" in "".join(done.stdout.split())


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("query", ["query [OPTIONS] [NAME RUN]...", "rollprof query NAME RUN", "rollprof query --sql"]),
        ("compare", ["compare [OPTIONS] [BASE CAND]..."]),
    ],
)
def test_the_help_begins_with_what_to_type(command: str, words: list[str], tmp_path: Path) -> None:
    told = run_command([command, "--help"], tmp_path).stdout
    assert [word for word in words if word not in told] == []


def test_the_command_alone_shows_its_help(tmp_path: Path) -> None:
    done = run_command([], tmp_path)
    assert done.exit_code == 2
    assert re.search("profile +Profile a run", done.stdout)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (["nonsense"], "nonsense"),
        (["eval", "nonsense"], "nonsense"),
        (["profile", "--nope"], "--nope"),
        (["profile", "--jobs", "0", "run.jsonl"], "--jobs"),
        (["profile", "--jobs", "x", "run.jsonl"], "--jobs"),
        (["profile", "--masked", "maybe", "run.jsonl"], "--masked"),
        (["profile", "--min-completion", "2", "run.jsonl"], "--min-completion"),
        (["profile", "--min-completion", "nan", "run.jsonl"], "--min-completion"),
        (["profile", "run.jsonl", "--output"], "--output"),
        (["profile", "--nested", "a..b", "run.jsonl"], "--nested"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_named(args: list[str], named: str, tmp_path: Path) -> None:
    done = run_command(args, tmp_path)
    assert "Traceback" not in done.stderr
    assert done.exit_code == 2
    assert named in done.stderr
