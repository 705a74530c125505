"""What the command loads before it works, and whose packages."""

import sys
from pathlib import Path

import pytest

from tests.cli.processes import Process, end_of, environment, start
from tests.cli.run_files import assert_refused, object_of, rollouts, tasks_of, write_run
from tests.command import Finished
from tests.runs import planned

HEAVY = {"polars", "scipy", "numpy", "pyarrow"}
SHOW_MODULES = "import sys; from rollprof import main\ntry: main()\nfinally: print(*sys.modules)"
COMMAND = Path(sys.executable).with_name("rollprof")
installed = pytest.mark.skipif(not COMMAND.exists(), reason="the command is not installed beside Python")


def modules_after(args: list[str], cwd: Path) -> set[str]:
    done = end_of(start(args, cwd, program=(sys.executable, "-c", SHOW_MODULES)))
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("args", [["--help"], ["profile", "--help"], ["eval", "profile", "-h"]], ids=" ".join)
def test_help_loads_nothing_heavy(args: list[str], tmp_path: Path) -> None:
    modules = modules_after(args, tmp_path)
    assert "pipeline.cli.profile" in modules
    assert not modules & HEAVY


@pytest.mark.parametrize("args", [["collect", "--help"], ["eval", "run", "-h"]], ids=" ".join)
def test_help_for_collecting_loads_no_server_and_no_client(args: list[str], tmp_path: Path) -> None:
    modules = modules_after(args, tmp_path)
    assert "pipeline.cli.eval_run" in modules
    assert not modules & {*HEAVY, "aiohttp", "fastapi", "uvicorn", "yaml"}


def test_a_missing_file_is_told_before_anything_heavy_is_loaded(tmp_path: Path) -> None:
    modules = modules_after(["profile", "absent.jsonl"], tmp_path)
    assert not modules & HEAVY


def test_a_small_run_needs_only_polars(tmp_path: Path) -> None:
    write_run(tmp_path)
    assert modules_after(["profile", "run.jsonl"], tmp_path) & HEAVY == {"polars"}
    assert len(tasks_of(tmp_path)) == 2


def write_package(folder: Path, name: str) -> Path:
    """A package that says so when it is imported."""
    (folder / name).mkdir(parents=True)
    (folder / name / "__init__.py").write_text("raise SystemExit('a package of another project was imported')\n")
    return folder


@pytest.mark.parametrize("name", ["pipeline", "queries"])
@pytest.mark.parametrize("args", [["--help"], ["profile", "run.jsonl"]], ids=" ".join)
def test_a_package_of_that_name_on_the_path_is_told(name: str, args: list[str], tmp_path: Path) -> None:
    write_run(tmp_path)
    other = write_package(tmp_path / "other", name)
    done = end_of(start(args, tmp_path, env=environment(PYTHONPATH=str(other))))
    assert_refused(done, 3, f"the package {name} ", str(other / name / "__init__.py"), "PYTHONPATH")


def test_packages_in_the_way_are_told_to_programs_too(tmp_path: Path) -> None:
    write_package(tmp_path, "pipeline")
    done = end_of(start(["profile", "run.jsonl", "--json"], tmp_path, env=environment(PYTHONPATH=str(tmp_path))))
    assert done.exit_code == 3
    assert object_of(done)["exit_code"] == 3


def with_own_packages(folder: Path) -> Path:
    """A folder of another project that has packages of our names, and modules of names in the standard library."""
    for name in ("pipeline", "queries"):
        write_package(folder, name)
    for name in ("json", "pickle", "typing"):
        (folder / f"{name}.py").write_text("raise SystemExit('a module of another project was imported')\n")
    return folder


def run_installed(args: list[str], cwd: Path) -> Finished:
    process: Process = start(args, cwd, program=(str(COMMAND),))
    return end_of(process)


@installed
@pytest.mark.parametrize("text", ["", "x" * 40_000], ids=["in one process", "in workers"])
def test_a_folder_with_packages_of_that_name_is_a_place_to_work_in(text: str, tmp_path: Path) -> None:
    keys = [(task, index) for task in range(30) for index in range(10)]
    write_run(with_own_packages(tmp_path), plan=[planned(*key) for key in keys], done=rollouts(keys, text=text))
    done = run_installed(["profile", "run.jsonl", "--jobs", "2", "--json"], tmp_path)
    assert done.exit_code == 0, done.stderr
    assert object_of(done)["completion"]["completed_rollout_rows"] == 300
    assert len(tasks_of(tmp_path)) == 30


def test_a_folder_of_data_called_pipeline(tmp_path: Path) -> None:
    # A folder without an __init__.py is no package; `python -m` looks for packages in the folder it runs in.
    write_run(tmp_path / "pipeline")
    done = end_of(start(["profile", "pipeline"], tmp_path))
    assert done.exit_code == 0, done.stderr
