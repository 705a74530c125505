"""Standard deviations far from zero, where a running algorithm loses its digits."""

import statistics
from pathlib import Path

import pytest

from tests.runs import finished, planned, profiled

FAR = [1764000000.5, 1.7e12, 1e15]


@pytest.mark.parametrize("far", FAR)
def test_std_far_from_zero(far: float, tmp_path: Path) -> None:
    values = [far + step for step in (0, 1, 3, 4)]
    plan = [planned(0, index) for index in range(4)]
    profile = profiled(tmp_path, plan, [finished(0, index, m=value) for index, value in enumerate(values)])
    expected = pytest.approx(statistics.stdev(values), rel=1e-8)
    assert profile.tasks[0]["std/m"] == expected
    assert profile.agents[0]["std/m"] == expected
