"""What begins before the command line is parsed: when it does, that it changes nothing, that none outlives it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import typer

from pipeline.cli import early
from pipeline.cli.asked import RunAsked
from pipeline.cli.main import application
from pipeline.options import ProfileOptions
from pipeline.sources import workers
from pipeline.sources.inputs import request_inputs
from pipeline.sources.readings import Request
from pipeline.sources.rollouts import request_rollouts
from pipeline.sources.runs import find_run
from tests.cli.processes import end_of, environment, start
from tests.runs import finished, jsonl, plan_of

ROOT = Path(__file__).parents[2]
ROWS = [finished(task, 0, reward=task % 2, text="x" * 4000) for task in range(9000)]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many workers were started."""
    numbers: list[int] = []
    monkeypatch.setattr(early, "start_spares", numbers.append)
    monkeypatch.setattr(early, "usable_cores", lambda: 8)
    yield numbers
    early.end_early()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("early")
    (folder / "large.jsonl").write_bytes(jsonl(ROWS))
    (folder / "large_materialized_inputs.jsonl").write_bytes(jsonl(plan_of(ROWS)))
    (folder / "plan.jsonl").write_bytes(jsonl(plan_of(ROWS)))
    (folder / "small.jsonl").write_bytes(jsonl(ROWS[:5]))
    os.mkfifo(folder / "pipe")
    return folder


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        (["profile", "large.jsonl"], [8]),
        (["eval", "profile", "+rollouts_jsonl_fpath=large.jsonl"], [8]),
        (["profile", "--rollouts=large.jsonl", "-j", "3"], [3]),
        (["profile", "--jobs=2", "."], [2]),
        (["profile", "--jobs", "99", "large.jsonl"], [8]),
        (["profile", "large.jsonl", "--jobs"], [0]),
        (["profile", "large.jsonl", "--jobs", "x"], [0]),
        (["profile", "small.jsonl"], []),
        (["profile", "absent.jsonl"], []),
        (["profile", "a\0b", "large.jsonl"], [8]),
        (["profile"], []),
        (["query", "pass_rates", "large.jsonl"], []),
        (["stats", "profile", "large.jsonl"], []),
        ([], []),
    ],
    ids=str,
)
def test_when_workers_start(
    arguments: list[str], want: list[int], started: list[int], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    early.start_early(arguments)
    assert started == want


@pytest.mark.parametrize(
    ("arguments", "inputs", "rollouts"),
    [
        (["large.jsonl"], ["large_materialized_inputs.jsonl"], ["large.jsonl"]),
        (["-r", "large.jsonl", "--inputs=plan.jsonl"], ["plan.jsonl"], ["large.jsonl"]),
        (["large.jsonl", "--jobs=2", "--json", "-q", "-o", "x", "--masked=include"], None, ["large.jsonl"]),
        (["large.jsonl", "small.jsonl", "-o", "x"], None, ["large.jsonl", "small.jsonl"]),
        (["."], None, ["large.jsonl", "small.jsonl"]),
        (["large.jsonl", "--nested", "usage"], None, None),
        (["large.jsonl", "--rollouts-only"], None, None),
        (["large.jsonl", "--assign-indices"], None, None),
        (["large.jsonl", "-qj2"], None, None),
        (["large.jsonl", "++allow_partial_rollouts=True"], None, None),
        (["large.jsonl", "absent.jsonl"], None, None),
        (["large.jsonl", "pipe"], None, None),
        (["l*.jsonl", "large.jsonl"], None, None),
        (["large.jsonl", "--inputs"], None, None),
        (["large.jsonl", "--jobs", "1"], None, None),
    ],
    ids=lambda value: " ".join(value) if value else "",
)
def test_what_is_read_early(
    arguments: list[str],
    inputs: list[str] | None,
    rollouts: list[str] | None,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(folder)
    early.start_early(["profile", "--no-cache", *arguments])
    begun = [request for guess in early._guesses for request in guess.readings]  # noqa: SLF001
    early.end_early()
    read = [[source.path.name for source in request.sources] for request in begun]
    assert read == ([] if rollouts is None else [inputs or ["large_materialized_inputs.jsonl"], rollouts])


def requests_of(folder: Path) -> list[Request]:
    """What the command asks for where its options say nothing of it."""
    files, options = find_run(folder / "large.jsonl"), ProfileOptions(**RunAsked().options())
    return [request_inputs(files.inputs, options), request_rollouts(files.rollouts, options)]


def start_early(folder: Path) -> None:
    early.start_early(["profile", "--no-cache", str(folder / "large.jsonl"), "--jobs", "2"])


def test_what_was_begun_is_taken_once(folder: Path) -> None:
    start_early(folder)
    taken = early.take_early(requests_of(folder), workers=2)
    assert taken is not None
    with taken.pool:
        rows = [sum(sum(chunk.lines) for chunk in reading.chunks) for reading in taken.readings.values()]
    assert rows == [len(ROWS), len(ROWS)]
    assert early.take_early(requests_of(folder), workers=2) is None


def test_the_command_takes_what_was_begun(folder: Path, tmp_path: Path) -> None:
    dump, one = str(folder / "large.jsonl"), ["--jobs", "2", "--no-cache", "-q", "-o"]
    code = f"""
import contextlib, sys
sys.argv = ["rollprof", "profile", {dump!r}, *{one!r}, {str(tmp_path / "out")!r}]
import rollprof
from pipeline.sources import workers
pools, made = [], workers.Pool.__init__
def make(pool, number):
    pools.append("typer" in sys.modules)
    made(pool, number)
workers.Pool.__init__ = make
with contextlib.suppress(SystemExit):
    rollprof.main()
print(pools)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True, text=True)
    assert done.stdout.splitlines()[-1] == "[False]", "one pool, from before the command line was parsed"


def test_every_option_that_is_known_here_is_one_of_profile() -> None:
    parsed = typer.main.get_command(application(["profile"]))
    (profile,) = parsed.commands.values()  # type: ignore[attr-defined]
    options = {name: one for one in profile.params for name in one.opts}
    assert {*early.NAMING, *early.VALUED, *early.FLAGS} <= set(options)
    assert not any(options[name].is_flag for name in {*early.NAMING, *early.VALUED})
    assert all(options[name].is_flag for name in early.FLAGS)
    others = {"--nested", "--rollouts-only", "--assign-indices", "--help", "-h"}
    assert set(options) - {*early.NAMING, *early.VALUED, *early.FLAGS, *others} == {"run"}


@pytest.mark.parametrize("case", ["workers", "options", "grown", "less"])
def test_what_is_something_else_is_ended(case: str, folder: Path, tmp_path: Path) -> None:
    for path in folder.glob("large*"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    start_early(tmp_path)
    processes = list(early._guesses[0].pool._processes)  # noqa: SLF001
    if case == "grown":
        with (tmp_path / "large.jsonl").open("ab") as file:
            file.write(jsonl([finished(9000, 0)]))
    inputs, rollouts = requests_of(tmp_path)
    if case == "options":
        rollouts = request_rollouts(rollouts.sources, ProfileOptions(nested=("usage",)))
    wanted = [rollouts] if case == "less" else [inputs, rollouts]
    assert early.take_early(wanted, workers=3 if case == "workers" else 2) is None
    assert [process.wait() != 0 for process in processes] == [True] * 2


def test_a_run_that_is_in_the_cache_is_not_read(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = environment(ROLLPROF_CACHE_DIR=str(tmp_path))
    outputs = []
    for name in ("first", "second"):
        done = end_of(start(["profile", str(folder / "large.jsonl"), "-o", name, "-q"], tmp_path, env=kept))
        assert done.exit_code == 0, done.stderr
        outputs.append((tmp_path / f"{name}_reward_profiling.jsonl").read_bytes())
    assert outputs[0] == outputs[1]
    monkeypatch.setenv("ROLLPROF_CACHE_DIR", str(tmp_path))
    early.start_early(["profile", str(folder / "large.jsonl")])
    assert early._guesses == []  # noqa: SLF001
    early.end_early()


@pytest.mark.parametrize("more", [["--nested", "usage"], ["--counts"], ["--jobs", "1"]], ids=" ".join)
def test_a_guess_changes_no_byte(more: list[str], folder: Path, tmp_path: Path) -> None:
    read = {}
    for name, dump in (("guessed", [str(folder / "large.jsonl")]), ("globbed", [str(folder / "large.jsonl*")])):
        done = end_of(start(["profile", *dump, "-o", name, "-q", "--no-cache", *more], tmp_path))
        assert done.exit_code == 0, done.stderr
        read[name] = [path.read_bytes() for path in sorted(tmp_path.glob(f"{name}_*"))]
    assert len(read["guessed"]) == 3
    assert read["guessed"] == read["globbed"]


def test_a_pool_takes_the_spares_and_the_rest_end(folder: Path) -> None:
    workers.start_spares(3)
    spares = list(workers._spares)  # noqa: SLF001
    with workers.Pool(2) as pool:
        assert list(pool.submit(os.path.basename, ["a/b", "c/d"])) == ["b", "d"]
        assert len(workers._spares) == 1  # noqa: SLF001
        workers.end_spares()
    assert [process.wait() != 0 for process in spares] == [True] * 3
    assert folder.exists()


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["large.jsonl", "-o", "out", "-q"], 0),
        (["large.jsonl", "-o", "out", "-q", "--jobs", "1"], 0),
        (["large.jsonl", "--nope"], 2),
        (["large.jsonl", "absent.jsonl", "-o", "out"], 3),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_no_worker_outlives_the_command(args: list[str], code: int, folder: Path) -> None:
    done = end_of(start(["profile", *args], folder))
    assert done.exit_code == code
    assert "Traceback" not in done.stderr
    left = [process for process in psutil.process_iter(["cmdline", "cwd"]) if process.info["cwd"] == str(folder)]
    assert left == []
