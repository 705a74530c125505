"""Quantiles of Student's t: the same as SciPy's, however many there are."""

import math
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from scipy.special import stdtrit

from pipeline.profile.student import CONFIDENCE, FEW, t_quantiles

ROOT = Path(__file__).parents[2]


def quantiles(counts: pl.Series, upper: float = CONFIDENCE) -> list[float | None]:
    return pl.DataFrame({"n": counts}).select(t_quantiles(pl.col("n"), upper))["n"].to_list()


def test_the_few_that_are_kept_are_those_of_scipy() -> None:
    assert list(FEW[1:]) == [stdtrit(freedom, CONFIDENCE) for freedom in range(1, len(FEW))]


@pytest.mark.parametrize("most", [5, len(FEW), len(FEW) + 1, 100_000])
@pytest.mark.parametrize("upper", [CONFIDENCE, 0.95])
def test_quantiles_are_those_of_scipy(most: int, upper: float) -> None:
    counts = pl.Series([most, 2, 3, most - 1], dtype=pl.UInt32)
    assert quantiles(counts, upper) == [stdtrit(count - 1, upper) for count in counts]


@pytest.mark.parametrize("most", [4, 1000])
def test_below_two_values_there_is_none(most: int) -> None:
    assert quantiles(pl.Series([0, 1, None, most], dtype=pl.UInt32))[:3] == [None, None, None]


def test_no_rows() -> None:
    assert quantiles(pl.Series([], dtype=pl.UInt32)) == []


def test_one_degree_of_freedom_is_cauchy() -> None:
    assert quantiles(pl.Series([2])) == pytest.approx([math.tan(math.pi * (CONFIDENCE - 0.5))])


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
