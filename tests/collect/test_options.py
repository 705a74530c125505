"""Repeats as they are typed, and options that are refused."""

import pytest

from pipeline.collect.options import PlanOptions, parse_repeats
from pipeline.errors import UsageError


@pytest.mark.parametrize(
    ("given", "repeats"),
    [
        ([], {"_default": 1}),
        (["8"], {"_default": 8}),
        (["a=4", "b=2"], {"a": 4, "b": 2}),
        (["a=4,b=2,16"], {"a": 4, "b": 2, "_default": 16}),
        (["_default=3"], {"_default": 3}),
        (["a=b=3"], {"a=b": 3}),
    ],
)
def test_repeats(given: list[str], repeats: dict[str, int]) -> None:
    assert parse_repeats(given) == repeats


@pytest.mark.parametrize("given", ["0", "-1", "x", "a=", "=3", "a=0", "1.5", "", "²", "a=1,,b=1"])
def test_what_is_no_number_of_repeats(given: str) -> None:
    with pytest.raises(UsageError, match="--num-repeats"):
        parse_repeats([given])


@pytest.mark.parametrize("number", ["1000000", "999999999999", "9" * 5000])
def test_more_repeats_than_can_be_meant(number: str) -> None:
    assert parse_repeats([f"a={'0' * 5}999999"]) == {"a": 999_999}
    with pytest.raises(UsageError, match="more than can be meant") as refused:
        parse_repeats([f"a={number}"])
    assert len(refused.value.message) < 100


@pytest.mark.parametrize("given", [["1", "2"], ["a=1,a=2"]])
def test_repeats_are_said_once(given: list[str]) -> None:
    with pytest.raises(UsageError, match="twice"):
        parse_repeats(given)


def test_an_agent_without_repeats_of_its_own() -> None:
    options = PlanOptions(repeats={"a": 4})
    assert (options.repeats_of("a"), options.repeats_of("b")) == (4, None)
    assert PlanOptions(repeats={"a": 4, "_default": 2}).repeats_of("b") == 2


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_overrides_are_finite(value: float) -> None:
    with pytest.raises(UsageError, match="temperature"):
        PlanOptions(overrides={"temperature": value})
