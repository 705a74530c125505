"""A curriculum: every task in one stage, stages of one size, from easy to hard in every domain."""

import math
from collections.abc import Sequence

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.analysis.stages import log_weights, staged, summary

DOMAIN = "_sample.domain"


def tasks(rates: list[float], domains: Sequence[str | None] | None = None) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "_ng_task_index": range(len(rates)),
            "_agent": ["a"] * len(rates),
            "pass_rate": rates,
            DOMAIN: domains or ["d"] * len(rates),
        },
        schema={"_ng_task_index": pl.Int64, "_agent": pl.String, "pass_rate": pl.Float64, DOMAIN: pl.String},
    )


def test_weights_are_gaussian_around_the_middle_of_each_part() -> None:
    # rates from 0 to 0.8 in four parts of 0.2: their middles are 0.7, 0.5, 0.3 and 0.1
    rates = [0.0, 0.25, 0.8]
    for stage, middle in enumerate((0.7, 0.5, 0.3, 0.1)):
        found = log_weights(tasks(rates), 4)[stage].exp().to_list()
        assert found == pytest.approx([math.exp(-(((rate - middle) / 0.1) ** 2) / 2) for rate in rates])


def test_rates_that_are_all_alike_weigh_the_same() -> None:
    assert [one.to_list() for one in log_weights(tasks([0.5, 0.5]), 2)] == [[0.0, 0.0]] * 2


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 8), st.sampled_from(["x", "y", None])), max_size=40),
    st.integers(2, 5),
    st.integers(0, 9),
)
def test_every_task_is_in_one_stage_and_stages_are_of_one_size(
    given_tasks: list[tuple[int, str | None]], stages: int, seed: int
) -> None:
    some = tasks([passed / 8 for passed, _ in given_tasks], [domain for _, domain in given_tasks])
    found = staged(some, stages, seed=seed, domain=DOMAIN)
    assert found.drop("_stage").equals(some)
    for domain in ("x", "y", None):
        of_domain = found.filter(pl.col(DOMAIN).eq_missing(domain))
        sizes = [len(of_domain.filter(_stage=stage + 1)) for stage in range(stages)]
        each, more = divmod(len(of_domain), stages)
        assert sorted(sizes, reverse=True) == [each + (stage < more) for stage in range(stages)]
    each, more = divmod(len(some), stages)
    assert [len(found.filter(_stage=stage + 1)) for stage in range(stages)] == [
        each + (stage < more) for stage in range(stages)
    ]
    turned = staged(some.reverse(), stages, seed=seed, domain=DOMAIN)
    assert turned.reverse().equals(found)


def test_stages_go_from_easy_to_hard_in_every_domain() -> None:
    easy, hard = [0.6 + number / 500 for number in range(200)], [number / 500 for number in range(200)]
    found = staged(tasks(easy + hard, ["easy"] * 200 + ["hard"] * 200), 4, seed=1, domain=DOMAIN)
    told = summary(found, DOMAIN)
    for domain in ("easy", "hard"):
        means = told.filter(domain=domain)["mean_pass_rate"].to_list()
        assert means == sorted(means, reverse=True)
        assert means[0] - means[-1] > 0.1
    assert told["tasks"].to_list() == [50] * 8
    # and yet a stage is a mix
    of_easy = found.filter(pl.col(DOMAIN) == "easy")
    first, second = (of_easy.filter(_stage=stage)["pass_rate"].to_list() for stage in (1, 2))
    assert min(first) < 0.9 < max(second)


@pytest.mark.parametrize(
    ("sizes", "rooms"),
    [
        ({f"{number:02}": 1 for number in range(24)}, [6, 6, 6, 6]),
        ({"a": 5, "b": 6, "c": 3}, [4, 4, 3, 3]),
    ],
)
def test_what_remains_of_many_domains_is_shared_out(sizes: dict[str, int], rooms: list[int]) -> None:
    domains = [domain for domain, size in sizes.items() for _ in range(size)]
    found = staged(tasks([0.5] * len(domains), domains), 4, seed=0, domain=DOMAIN)
    assert [len(found.filter(_stage=stage + 1)) for stage in range(4)] == rooms


def test_another_seed_draws_other_stages() -> None:
    some = tasks([number / 99 for number in range(100)])
    assert not staged(some, 2, seed=0).equals(staged(some, 2, seed=1))
    assert staged(some, 2, seed=0).equals(staged(some, 2, seed=0))


def test_summary_without_domains() -> None:
    told = summary(staged(tasks([0.25, 0.75, 0.5]), 2, seed=0))
    assert told["domain"].to_list() == [None, None]
    assert told["tasks"].to_list() == [2, 1]
