"""Who wins among k of n rollouts, against all ways to take them."""

import random
from collections import Counter
from itertools import combinations
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.analysis import elections
from pipeline.analysis.elections import Votes, majority_share


def votes_of(labels: list[int | None], right: dict[int, int]) -> Votes:
    """Votes by answer, most first; `right` says how many of an answer's rollouts pass."""
    counted = Counter(label for label in labels if label is not None).most_common()
    passing = tuple(min(right.get(label, 0), number) for label, number in counted)
    return Votes(tuple(number for _, number in counted), passing, labels.count(None))


def enumerated(kind: Votes, k: int) -> float:
    """The mean over all ways to take k rollouts."""
    pool = [answer for answer, number in enumerate(kind.votes) for _ in range(number)] + [None] * kind.blank
    return fmean(winner([label for label in taken if label is not None], kind) for taken in combinations(pool, k))


def winner(taken: list[int], kind: Votes) -> float:
    counts = Counter(taken)
    most = max(counts.values(), default=0)
    return fmean(kind.right[one] / kind.votes[one] for one, number in counts.items() if number == most) if most else 0.0


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([None, 0, 1, 2, 3, 4]), min_size=1, max_size=9), st.data())
def test_every_way_to_take_k_of_n(labels: list[int | None], data: st.DataObject) -> None:
    right = data.draw(st.dictionaries(st.integers(0, 4), st.integers(0, 9)))
    kind = votes_of(labels, right)
    for k in range(1, len(labels) + 1):
        assert majority_share([kind], k)[0] == pytest.approx(enumerated(kind, k), abs=1e-12)
    assert majority_share([kind], len(labels) + 1) == [None]


@pytest.mark.parametrize(
    ("votes", "right", "blank", "k", "share"),
    [
        ((2, 1), (2, 0), 0, 3, 1.0),
        ((2, 2), (2, 0), 0, 4, 0.5),
        ((2, 2, 2), (2, 2, 0), 0, 6, 2 / 3),
        ((1,), (1,), 3, 4, 1.0),
        ((), (), 4, 2, 0.0),
        ((2,), (2,), 2, 2, 5 / 6),
        ((4,), (3,), 0, 2, 0.75),
    ],
    ids=["most", "tie of two", "tie of three", "abstain", "nobody", "nobody one time in six", "graded unlike"],
)
def test_cases(votes: tuple[int, ...], right: tuple[int, ...], blank: int, k: int, share: float) -> None:
    assert majority_share([Votes(votes, right, blank)], k) == [pytest.approx(share, abs=1e-13)]


def some_kinds(number: int, n: int) -> list[Votes]:
    chance = random.Random(5)
    labels = [[chance.choice([None, 0, 0, 0, 1, 1, 2, 3]) for _ in range(n)] for _ in range(number)]
    return [votes_of(one, {0: n}) for one in labels]


def test_kinds_do_not_change_each_other() -> None:
    kinds = some_kinds(20, 12)
    assert [majority_share([kind], 6)[0] for kind in kinds] == majority_share(kinds, 6)


def test_draws_come_near(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = some_kinds(10, 40)
    exact = majority_share(kinds, 20)
    monkeypatch.setattr(elections, "EXACT_UP_TO", 0)
    drawn = majority_share(kinds, 20)
    assert drawn == majority_share(kinds, 20)
    assert drawn == [majority_share([kind], 20)[0] for kind in kinds]
    assert drawn != majority_share(kinds, 20, seed=1)
    assert drawn == pytest.approx(exact, abs=0.05)
    assert majority_share(kinds, 40) == pytest.approx([enumerated(kind, 40) for kind in kinds])
