"""Lots and shares: seeded, the same for a task whatever it is chosen from, and exact in number."""

from collections import Counter
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.analysis.sampling import drawn, equal_shares, lots, quotas, ratio_of, shared_out
from pipeline.errors import UsageError

FIELD = "_sample.domain"


def tasks(domains: str, agent: str = "a") -> pl.DataFrame:
    """A task for each letter, which is its domain; `-` for none."""
    values = [None if letter == "-" else letter for letter in domains]
    schema = {"_ng_task_index": pl.Int64, "_agent": pl.String, FIELD: pl.String}
    return pl.DataFrame([(number, agent, value) for number, value in enumerate(values)], schema=schema, orient="row")


def test_a_task_draws_the_same_lot_in_any_order() -> None:
    some = tasks("a" * 50)
    there = dict(zip(some["_ng_task_index"], lots(some, seed=1, purpose="size"), strict=True))
    turned = some.reverse()
    assert dict(zip(turned["_ng_task_index"], lots(turned, seed=1, purpose="size"), strict=True)) == there
    assert lots(some, seed=2, purpose="size").to_list() != list(there.values())
    assert lots(some, seed=1, purpose="control").to_list() != list(there.values())
    assert lots(tasks("a" * 50, "b"), seed=1, purpose="size").to_list() != list(there.values())
    assert all(0 < lot < 1 for lot in there.values())


def test_lots_are_even() -> None:
    mean = lots(tasks("a" * 4000), seed=3, purpose="size").mean()
    assert mean == pytest.approx(0.5, abs=4 * (1 / 12 / 4000) ** 0.5)


@settings(deadline=None)
@given(st.integers(0, 40), st.integers(1, 50), st.integers(0, 2**63))
def test_a_draw_has_the_size_keeps_the_order_and_is_part_of_a_larger_one(there: int, number: int, seed: int) -> None:
    some = tasks("a" * there)
    found = drawn(some, number, seed=seed, purpose="size")["_ng_task_index"].to_list()
    assert len(found) == min(there, number)
    assert found == sorted(found)
    assert set(found) <= set(drawn(some, number + 1, seed=seed, purpose="size")["_ng_task_index"])


def test_a_remainder_goes_to_the_first_values() -> None:
    assert quotas({"a": 9, "b": 9, "c": 9}, equal_shares("abc"), size=8) == {"a": 3, "b": 3, "c": 2}
    assert quotas({"a": 9, "b": 9, "c": 9}, equal_shares("abc"), size=7) == {"a": 3, "b": 2, "c": 2}


def test_a_remainder_goes_to_the_largest_fraction() -> None:
    shares = ratio_of("d=x:0.5,y:0.3,z:0.2")[1]
    # of 9: 4.5, 2.7, 1.8
    assert quotas({"x": 9, "y": 9, "z": 9}, shares, size=9) == {"x": 4, "y": 3, "z": 2}


def test_without_a_size_the_scarcest_value_decides() -> None:
    assert quotas({"a": 5, "b": 3, "c": 9}, equal_shares("abc"), size=None) == {"a": 3, "b": 3, "c": 3}
    assert quotas({"x": 7, "y": 2}, ratio_of("d=x:2,y:1")[1], size=None) == {"x": 4, "y": 2}
    assert quotas({}, {}, size=None) == {}


@settings(deadline=None)
@given(
    st.dictionaries(st.sampled_from("abcdef"), st.tuples(st.integers(1, 9), st.integers(0, 30)), min_size=1),
    st.one_of(st.none(), st.integers(1, 60)),
)
def test_quotas_sum_to_the_size_and_are_off_by_less_than_one(
    asked: dict[str, tuple[int, int]], size: int | None
) -> None:
    total = sum(share for share, _ in asked.values())
    shares = {value: Fraction(share, total) for value, (share, _) in asked.items()}
    available = {value: number for value, (_, number) in asked.items()}
    found = quotas(available, shares, size=size)
    whole = sum(found.values())
    if size is None:
        assert all(found[value] <= available[value] for value in found)
    else:
        assert whole == size
    assert all(abs(number - shares[value] * whole) < 1 for value, number in found.items())


def test_shares_of_tasks() -> None:
    some = tasks("aabbbbab-c")
    found, short = shared_out(some, FIELD, equal_shares("ab"), size=4, seed=0)
    assert Counter(found[FIELD]) == {"a": 2, "b": 2}
    assert found["_ng_task_index"].is_sorted()
    assert short == {}
    assert found.columns == some.columns


def test_a_value_that_has_too_few_is_not_made_up_for() -> None:
    found, short = shared_out(tasks("aabbbbb"), FIELD, equal_shares("ab"), size=6, seed=0)
    assert Counter(found[FIELD]) == {"a": 2, "b": 3}
    assert short == {"a": 1}


def test_no_value_no_tasks() -> None:
    found, short = shared_out(tasks("--"), FIELD, {}, size=3, seed=0)
    assert (len(found), short) == (0, {})


def test_a_ratio_is_scaled() -> None:
    assert ratio_of("meta.kind=a:b:0.3,c:0.1") == ("meta.kind", {"a:b": Fraction(3, 4), "c": Fraction(1, 4)})


@pytest.mark.parametrize(
    "text",
    ["domain", "domain=", "=a:1", "domain=a", "domain=a:0", "domain=a:x", "domain=a:1,a:2", "d=a:nan", "d=a:1/0"],
)
def test_no_ratio(text: str) -> None:
    with pytest.raises(UsageError, match="is no ratio"):
        ratio_of(text)
