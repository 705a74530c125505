"""What is different on a terminal: a progress bar, after a second and only there."""

from pathlib import Path

import pytest

from tests.cli.processes import end_of, environment, start
from tests.cli.run_files import INPUTS, KEYS, OUTPUTS, write_run
from tests.cli.terminal import BAR, WORKERS, on_terminal, workers_that_pause, write_run_for_workers
from tests.runs import planned

COLOR = "\x1b[3"
LONG_NAME = "an agent with a name that no terminal is wide enough for, " * 8


def test_there_is_no_bar_within_a_second(tmp_path: Path) -> None:
    write_run(tmp_path)
    shown = on_terminal(["profile", "run.jsonl"], tmp_path).stdout
    assert shown.startswith(f"inputs: run{INPUTS}\nRollouts  4 of 4 finished")
    assert "\x1b" not in shown


@pytest.mark.slow
@pytest.mark.parametrize(("env", "colored"), [({}, True), ({"NO_COLOR": "1"}, False)], ids=["color", "NO_COLOR"])
def test_there_is_a_bar_after_a_second(env: dict[str, str], colored: bool, tmp_path: Path) -> None:
    write_run_for_workers(tmp_path)
    args = ["profile", "run.jsonl", "--jobs", str(WORKERS)]
    done = on_terminal(args, tmp_path, env=env, hinder=workers_that_pause)
    shown = done.stdout
    assert done.exit_code == 0, shown
    before, bar, after = shown.partition(BAR)
    assert before.startswith(f"inputs: run{INPUTS}\n")
    assert bar
    assert "MB" in after
    assert (COLOR in shown) == colored
    assert f"\n  run{OUTPUTS[0]}\n" in after


@pytest.mark.slow
def test_there_is_no_bar_in_a_pipe(tmp_path: Path) -> None:
    write_run_for_workers(tmp_path)
    process = start(["profile", "run.jsonl", "--jobs", str(WORKERS)], tmp_path, env=environment(TERM="xterm"))
    workers_that_pause(process)
    done = end_of(process)
    assert (done.exit_code, done.stderr) == (0, f"inputs: run{INPUTS}\n")


def test_nothing_is_cut_on_a_narrow_terminal(tmp_path: Path) -> None:
    write_run(tmp_path, plan=[planned(*key, agent=LONG_NAME) for key in KEYS])
    done = on_terminal(["profile", "run.jsonl"], tmp_path, columns=20)
    assert f"\n{LONG_NAME}: 4 rollouts of 2 tasks\n" in done.stdout
