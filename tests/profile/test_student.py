"""Quantiles of Student's t: the same as SciPy's, however many there are."""

import math
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from scipy.special import ndtri, stdtrit

from pipeline.profile.student import FEW, MANY, UPPER, t_quantiles

ROOT = Path(__file__).parents[2]


def quantiles(counts: pl.Series, upper: float = UPPER) -> list[float | None]:
    return pl.DataFrame({"n": counts}).select(t_quantiles(pl.col("n"), upper))["n"].to_list()


def test_quantiles_are_those_of_scipy() -> None:
    counts = pl.Series([*range(2, 2000), 10_000, 123_456, 10**9], dtype=pl.UInt32)
    expected = [stdtrit(count - 1, UPPER) for count in counts]
    assert quantiles(counts) == pytest.approx(expected, rel=1e-14)


def test_table_and_expansion_meet() -> None:
    last = len(FEW) - 1
    expanded = sum(coefficient / last**power for power, coefficient in enumerate(MANY))
    assert FEW[last] == pytest.approx(expanded, rel=2e-16)


def test_another_quantile_is_that_of_the_textbooks() -> None:
    assert quantiles(pl.Series([2, 6, 31]), 0.95) == pytest.approx([6.3137515, 2.0150484, 1.6972609], abs=1e-7)


def test_the_expansion_begins_as_the_handbook_has_it() -> None:
    z = ndtri(UPPER)
    first = (z, (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96, (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384)
    assert MANY[: len(first)] == pytest.approx(first, rel=1e-15)


@pytest.mark.parametrize("most", [4, 1000])
def test_below_two_values_there_is_none(most: int) -> None:
    assert quantiles(pl.Series([0, 1, None, most], dtype=pl.UInt32))[:3] == [None, None, None]


def test_no_rows() -> None:
    assert quantiles(pl.Series([], dtype=pl.UInt32)) == []


def test_one_degree_of_freedom_is_cauchy() -> None:
    assert quantiles(pl.Series([2])) == pytest.approx([math.tan(math.pi * (UPPER - 0.5))])


def test_a_profile_does_without_scipy(tmp_path: Path) -> None:
    code = f"""
import contextlib, sys
sys.argv = ["rollprof", "profile", "sample_data/complete", "-o", {str(tmp_path / "run")!r}, "--quiet"]
import rollprof
with contextlib.suppress(SystemExit):
    rollprof.main()
print("scipy" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True, text=True)
    assert done.stdout.splitlines()[-1] == "False"
