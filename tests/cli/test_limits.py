"""What the system does not let the command do is a refusal in words, whenever it comes."""

import ctypes
import json
import resource
import stat
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.errors import WorkerError
from pipeline.sources.workers import Pool
from tests.cli.processes import environment, run
from tests.cli.run_files import assert_refused, rollout, tasks_of, write_run
from tests.runs import plan_of

LARGE = [rollout(task, 0, text="x" * 8000) for task in range(5000)]
"""So large that it is begun to be read before the command line is parsed."""
DROP_FROM_BOUNDING_SET, OVERRIDE, READ_SEARCH = 24, 1, 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("limits")
    write_run(folder, plan=plan_of(LARGE), done=LARGE)
    return folder


def limited_to(files: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))


@pytest.mark.parametrize("files", [6, 8, 11, 12, 13, 14, 16, 20])
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_few_open_files(files: int, form: list[str], folder: Path, tmp_path: Path) -> None:
    args = ["profile", str(folder / "run.jsonl"), "-o", "x", "--no-cache", *form]
    done = run(args, tmp_path, preexec_fn=limited_to(files))
    assert "Traceback" not in done.stderr, done.stderr
    assert done.exit_code in {0, 3}, done.stderr
    assert len(list(tmp_path.iterdir())) == (0 if done.exit_code else 3)
    if form and done.exit_code:
        assert json.loads(done.stdout)["exit_code"] == 3


@pytest.mark.parametrize("files", [8, 10, 12])
def test_help_needs_few_open_files(files: int, folder: Path) -> None:
    done = run(["profile", "run.jsonl", "--help"], folder, preexec_fn=limited_to(files))
    assert (done.exit_code, done.stderr) == (0, "")


def test_workers_that_cannot_be_started(folder: Path, tmp_path: Path) -> None:
    code = "import sys; sys.executable = '/nowhere/python'; from rollprof import command; command()"
    args = [str(folder / "run.jsonl"), "-o", "x", "--no-cache", "-q"]
    done = run(["profile", *args, "--jobs", "2"], tmp_path, program=(sys.executable, "-c", code))
    assert_refused(done, 3, "worker processes cannot be started: No such file", "--jobs 1")
    done = run(["profile", *args, "--jobs", "1"], tmp_path, program=(sys.executable, "-c", code))
    assert done.exit_code == 0, done.stderr
    assert len(tasks_of(tmp_path, "x")) == len(LARGE)


def test_threads_that_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[threading.Thread] = []

    def start(thread: threading.Thread, begin: Callable[[threading.Thread], None] = threading.Thread.start) -> None:
        if started:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        begin(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(WorkerError, match="can't start new thread"):
        Pool(2)
    assert not started[0].is_alive()


NO_THREADS = """
import threading
def start(thread): raise RuntimeError("can't start new thread")
from rollprof import command
threading.Thread.start = start
command()
"""
NO_MEMORY = """
import sys
class Full:
    def find_spec(self, name, path=None, target=None):
        if name == "polars":
            raise ImportError("polars.so: failed to map segment from shared object")
sys.meta_path.insert(0, Full())
from rollprof import command
command()
"""


@pytest.mark.parametrize(
    ("code", "words"), [(NO_THREADS, "Resource temporarily unavailable"), (NO_MEMORY, "Cannot allocate memory")]
)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_what_the_system_does_not_give(code: str, words: str, jobs: str, folder: Path, tmp_path: Path) -> None:
    args = ["profile", str(folder / "run.jsonl"), "-o", "x", "--no-cache", "--jobs", jobs]
    done = run(args, tmp_path, program=(sys.executable, "-c", code))
    if (code, jobs) == (NO_THREADS, "2"):
        words = "worker processes cannot be started"
    assert_refused(done, 3, words)
    assert list(tmp_path.iterdir()) == []


def without_privileges() -> None:
    """As for any other user, what a file's mode forbids is forbidden for root too."""
    for capability in (OVERRIDE, READ_SEARCH):
        ctypes.CDLL(None).prctl(DROP_FROM_BOUNDING_SET, capability, 0, 0, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="privileges are dropped as Linux does it")
@pytest.mark.parametrize("closed", [".", "inside", "run.jsonl"])
@pytest.mark.parametrize("command", ["profile", "stats", "inspect", "export"])
def test_what_may_not_be_read(command: str, closed: str, tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    path = write_run(tmp_path / "inside")
    target = {".": tmp_path / "inside", "inside": tmp_path / "inside", "run.jsonl": path}[closed]
    target.chmod(0)
    named = {".": "inside/run.jsonl", "inside": "inside", "run.jsonl": "inside"}[closed]
    out = ["-o", str(tmp_path / "x.parquet")] if command == "export" else []
    done = run([command, named, *out], tmp_path, preexec_fn=without_privileges)
    target.chmod(stat.S_IRWXU)
    assert_refused(done, 3, "Permission denied", "inside")


@pytest.mark.skipif(sys.platform != "linux", reason="privileges are dropped as Linux does it")
@pytest.mark.parametrize("pattern", ["s*/run.jsonl", "s2*/*.jsonl", "**/run.jsonl"])
def test_a_pattern_loses_no_closed_folder(pattern: str, tmp_path: Path) -> None:
    for shard in ("s1", "s2"):
        write_run(tmp_path / shard)
    (tmp_path / "s2").chmod(0)
    done = run(["profile", pattern, "-o", "x", "--partial"], tmp_path, preexec_fn=without_privileges)
    (tmp_path / "s2").chmod(stat.S_IRWXU)
    assert_refused(done, 3, "s2", ": cannot be read: Permission denied")


@pytest.mark.parametrize("threads", ["0", "-1", "x", "", "100000", "9" * 30])
def test_a_number_of_threads_that_is_none(threads: str, tmp_path: Path) -> None:
    write_run(tmp_path)
    done = run(["profile", "run.jsonl", "-q"], tmp_path, env=environment(POLARS_MAX_THREADS=threads))
    assert (done.exit_code, done.stderr) == (0, "")


def test_an_error_of_the_system_anywhere(tmp_path: Path) -> None:
    write_run(tmp_path)
    code = """
import pipeline.sources.runs
def open_source(path):
    raise OSError(5, "Input/output error", str(path))
pipeline.sources.runs.open_source = open_source
from rollprof import command
command()
"""
    done = run(["profile", "run.jsonl"], tmp_path, program=(sys.executable, "-c", code))
    assert_refused(done, 3, "run.jsonl: the system says: Input/output error")
