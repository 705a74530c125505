"""95 % intervals hold the true mean in about 95 % of simulated runs, where they know that tasks differ."""

import pytest

from tests.analysis.simulation import BOOTSTRAP, CLUSTERED, NAIVE, REPEATS, SETTINGS, Setting, coverage


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_coverage(setting: Setting) -> None:
    share = coverage(setting, runs=3000, draws=300)
    assert 0.93 <= share[CLUSTERED] <= 0.97
    assert 0.91 <= share[BOOTSTRAP] <= 0.97
    assert share[NAIVE] < 0.87
    assert share[REPEATS] < 0.9
