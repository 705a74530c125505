"""Measure `rollprof profile` against its budgets and print the tables; `make bench` runs this."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.bench import commands, figures
from tests.bench.machine import facts
from tests.bench.plan import FULL_MB, FULL_SMALL_MB, Plan
from tests.bench.rows import KINDS
from tests.bench.suite import Suite, say
from tests.bench.table import table

if TYPE_CHECKING:
    from tests.bench.rows import Kind

_QUICK_MB = 50.0
_QUICK_RUNS = 3


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--mb", type=float, default=FULL_MB, help="size of the text and tok dumps (%(default)s)")
    parser.add_argument("--small-mb", type=float, default=FULL_SMALL_MB, help="size of the small dump (%(default)s)")
    parser.add_argument("--kinds", type=_kinds, default=KINDS, help=f"any of {','.join(KINDS)} (all)")
    parser.add_argument("--runs", type=int, default=5, help="pairs of runs a ratio (%(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="processes, and threads of Polars (%(default)s)")
    parser.add_argument("--folder", type=Path, help="where dumps are written (the system's temporary folder)")
    parser.add_argument("--large", action="store_true", help="memory on dumps of four times the size too")
    parser.add_argument("--keep", action="store_true", help="leave the dumps and the last outputs on disk")
    parser.add_argument("--quick", action="store_true", help="dumps of 50 MB, 3 runs")
    parser.add_argument("--command", default=commands.PROFILE, help="the command under test (%(default)s)")
    return parser


def _kinds(text: str) -> tuple[Kind, ...]:
    asked = text.split(",")
    if unknown := [name for name in asked if name not in KINDS]:
        raise argparse.ArgumentTypeError(f"no kind {', '.join(unknown)}; there are {', '.join(KINDS)}")
    return tuple(kind for kind in KINDS if kind in asked)


def _plan(asked: argparse.Namespace, folder: Path) -> Plan:
    plan = Plan(
        kinds=asked.kinds,
        mb=asked.mb,
        small_mb=asked.small_mb,
        runs=asked.runs,
        jobs=asked.jobs,
        template=asked.command,
        large=asked.large,
        keep=asked.keep,
        quick=asked.quick,
        folder=folder,
    )
    return plan._replace(mb=_QUICK_MB, small_mb=_QUICK_MB, runs=_QUICK_RUNS) if asked.quick else plan


def _print(suite: Suite) -> None:
    out = sys.stdout
    out.write(f"{facts()}\n\n")
    if suite.profiles:
        out.write(f"{table(figures.PROFILE_HEADINGS, suite.profiles)}\n")
    out.write(f"{table(figures.OTHER_HEADINGS, suite.others)}\n")
    out.write("Medians (lowest to highest); ratios are of neighbouring runs. MB are 10^6 bytes.\n")
    if not suite.plan.full_size:
        out.write("The budgets are for dumps of full size: on other sizes the verdicts are only a hint.\n")


def main() -> int:
    """0 when everything could be measured, whether or not it holds; 1 when a command failed."""
    asked = _parser().parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if asked.folder:
        asked.folder.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="rollprof-bench-", dir=asked.folder)).resolve()
    os.environ["POLARS_MAX_THREADS"] = str(asked.jobs)
    try:
        suite = Suite(_plan(asked, folder))
        suite.measure()
        _print(suite)
        return int(suite.failed)
    except KeyboardInterrupt:
        return 130
    finally:
        if asked.keep:
            say(f"kept {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
