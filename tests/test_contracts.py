"""Data flows one way through the modules, and what starts quickly imports nothing that is slow."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.sources.workers import map_jobs
from tests.sources.work import loaded_modules

ROOT = Path(__file__).parents[1]
HEAVY = {"polars", "numpy", "scipy", "pyarrow", "pandas", "pydantic", "backports", "altair", "ray", "httpx", "aiohttp"}


def modules_of(*names: str) -> list[str]:
    return sorted(".".join(path.relative_to(ROOT).with_suffix("").parts) for name in names for path in ROOT.glob(name))


def heavy_after(code: str) -> set[str]:
    """What is loaded and heavy after some code ran in a fresh process."""
    told = f"{code}\nimport json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-W", "error", "-c", told], cwd=ROOT, capture_output=True, check=True)
    return {name.partition(".")[0] for name in json.loads(done.stdout.splitlines()[-1])} & HEAVY


def test_import_contracts() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


QUICK = [
    "rollprof",
    "pipeline.cli.main",
    "pipeline.names",
    "pipeline.errors",
    *modules_of("pipeline/sources/*.py"),
]


def test_starting_is_quick() -> None:
    assert heavy_after("; ".join(f"import {name.removesuffix('.__init__')}" for name in QUICK)) == set()


@pytest.mark.parametrize("module", ["pipeline.sources.reading", "pipeline.sources.workers", "pipeline.sources.rows"])
def test_workers_start_quickly(module: str) -> None:
    assert heavy_after(f"import {module}") == set()


def test_help_loads_nothing_heavy() -> None:
    code = """
import contextlib, sys
sys.argv = ["rollprof", "profile", "--help"]
import rollprof
with contextlib.suppress(SystemExit):
    rollprof.main()
"""
    assert heavy_after(code) <= {"pydantic"}


def test_a_worker_loads_nothing_heavy() -> None:
    loaded = {name.partition(".")[0] for names in map_jobs(loaded_modules, [1, 2], workers=2) for name in names}
    assert "pipeline" in loaded
    assert loaded & HEAVY == set()


def test_only_a_few_modules_are_slow_to_import() -> None:
    """What is heavier than Polars is imported where it is needed."""
    every = [name.removesuffix(".__init__") for name in modules_of("pipeline/**/*.py", "queries/**/*.py")]
    assert heavy_after("; ".join(f"import {name}" for name in every)) <= {"polars", "numpy", "pydantic"}
