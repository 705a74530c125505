"""The commands that are measured and those they are measured against."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

from tests.bench.measure import Command

if TYPE_CHECKING:
    from pathlib import Path

    from tests.bench.dumps import Dump

PROFILE = (
    "{python} -m rollprof profile --rollouts {rollouts} --inputs {inputs} -o {output} --quiet --no-cache --jobs {jobs}"
)
# It prints the seconds of the scan itself, without those of starting Python and importing, which a first scan does.
SCAN = """
import os, sys, time
import polars as pl
import pipeline
rollouts, jobs = sys.argv[1], int(sys.argv[2])
def scan(path):
    return pipeline.scan_rollouts([path], pipeline.ReadOptions(jobs=jobs)).select(pl.len()).collect()
scan(os.devnull)
start = time.perf_counter()
scan(rollouts)
print(time.perf_counter() - start)
"""
# It prints the seconds from numbers that were read to files that are written.
REST = """
import sys, time
import polars as pl
import pipeline
rollouts, inputs, stem, jobs = *sys.argv[1:4], int(sys.argv[4])
options = pipeline.ProfileOptions(jobs=jobs)
scanned = pipeline.scan_inputs([inputs], options=options), pipeline.scan_rollouts([rollouts], options)
pl.collect_all([frame.select(pl.len()) for frame in scanned])
start = time.perf_counter()
aligned = pipeline.align(*scanned, options)
frame, problems = pl.collect_all([aligned.frame, aligned.problems], engine="in-memory")
assert problems.is_empty()
pipeline.write_profile(frame.lazy(), stem)
print(time.perf_counter() - start)
"""
LOOP = """
import sys, orjson
for line in open(sys.argv[1], "rb"): orjson.loads(line)
"""
OUTPUT_STEM = "measured"


def profile(dump: Dump, template: str, *, jobs: int, scratch: Path) -> Command:
    """The command under test, its places filled in word by word."""
    places = {
        "{python}": sys.executable,
        "{rollouts}": str(dump.rollouts),
        "{inputs}": str(dump.inputs),
        "{output}": str(scratch / OUTPUT_STEM),
        "{jobs}": str(jobs),
    }
    return Command(tuple(_filled(word, places) for word in shlex.split(template)), scratch)


def show_help(template: str) -> Command:
    """The same program, asked for its help: the words before `profile`."""
    program = shlex.split(template.partition(" profile ")[0])
    return Command((*(_filled(word, {"{python}": sys.executable}) for word in program), "--help"))


def stats(dump: Dump, template: str, *, jobs: int) -> Command:
    """The same program, asked for the statistics of a dump."""
    program = shlex.split(template.partition(" profile ")[0])
    options = ("--quiet", "--no-cache", "--json", "--jobs", str(jobs))
    files = ("--rollouts", str(dump.rollouts), "--inputs", str(dump.inputs))
    return Command((*(_filled(word, {"{python}": sys.executable}) for word in program), "stats", *files, *options))


def scan(dump: Dump, *, jobs: int) -> Command:
    """Reading the rollouts into a LazyFrame, alone."""
    return Command((sys.executable, "-c", SCAN, str(dump.rollouts), str(jobs)))


def rest(dump: Dump, *, jobs: int, scratch: Path) -> Command:
    """What comes after reading: align, profile, write."""
    files = (str(dump.rollouts), str(dump.inputs), str(scratch / OUTPUT_STEM))
    return Command((sys.executable, "-c", REST, *files, str(jobs)), scratch)


def parse_loop(dump: Dump) -> Command:
    """A bare loop of orjson over the lines of the rollouts."""
    return Command((sys.executable, "-c", LOOP, str(dump.rollouts)))


def count_lines(dump: Dump) -> Command:
    """`wc -l` over the rollouts."""
    return Command(("wc", "-l", str(dump.rollouts)))


def _filled(word: str, places: dict[str, str]) -> str:
    for place, value in places.items():
        word = word.replace(place, value)
    return word
