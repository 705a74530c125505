"""The library in a fresh process: its names, and what a script that uses it can meet."""

import pkgutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import pipeline
from tests.cli.processes import end_of, start, wait_for, workers_of
from tests.cli.run_files import rollout, write_run


@pytest.mark.parametrize("name", pipeline.__all__)
def test_touching_a_name_turns_none_into_a_module(name: str) -> None:
    code = (
        f"import pipeline, types; pipeline.{name}; from pipeline import *; "
        "assert not [n for n in pipeline.__all__ if isinstance(getattr(pipeline, n), types.ModuleType)]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = pipeline.nonsense


def test_no_name_is_that_of_a_module() -> None:
    modules = {module.name for module in pkgutil.iter_modules(pipeline.__path__)}
    assert not modules & set(pipeline.__all__)


INTERRUPTED = """
import pipeline
frame = pipeline.scan_rollouts("run.jsonl", pipeline.ReadOptions(jobs=2))
try:
    frame.collect()
except KeyboardInterrupt as error:
    kept = error
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("catch", [True, False], ids=["caught", "not caught"])
def test_a_script_is_interrupted_while_it_reads(catch: bool, tmp_path: Path) -> None:
    rows = [rollout(task, 0, text="x" * 8000) for task in range(8000)]
    write_run(tmp_path, done=rows)
    code = INTERRUPTED if catch else INTERRUPTED.replace("KeyboardInterrupt", "ZeroDivisionError")
    process = start([], tmp_path, program=(sys.executable, "-c", code))
    wait_for(lambda: len(workers_of(process)) == 2)
    process.send_signal(signal.SIGINT)
    done = end_of(process)
    if catch:
        assert (done.exit_code, done.stdout, done.stderr) == (0, "interrupted\n", "")
    else:
        assert done.exit_code == -signal.SIGINT
        assert "Fatal" not in done.stderr


STOPPED = """
import pipeline
def progress(done):
    raise KeyboardInterrupt
pipeline.scan_rollouts("run.jsonl", pipeline.ReadOptions(jobs=2), progress=progress).collect()
"""


def test_a_script_is_interrupted_between_two_chunks(tmp_path: Path) -> None:
    write_run(tmp_path, done=[rollout(task, 0, text="x" * 8000) for task in range(16000)])
    for _ in range(3):  # what it once did at its end, it did most times
        done = end_of(start([], tmp_path, program=(sys.executable, "-c", STOPPED)))
        assert done.exit_code == -signal.SIGINT
        assert "Fatal" not in done.stderr
