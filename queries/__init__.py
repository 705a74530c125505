"""Questions about a run, one a file: `(run, *, parameters) → LazyFrame`; a docstring's first line is its help."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from queries.agents import agents
from queries.cost import cost
from queries.coverage import coverage
from queries.failure_classes import failure_classes
from queries.hardest import hardest
from queries.length_gap import length_gap
from queries.metric_table import metric_table
from queries.pass_rates import pass_rates
from queries.repeat_spread import repeat_spread
from queries.reward_by_tokens import reward_by_tokens
from queries.token_correlation import token_correlation
from queries.zero_signal import zero_signal

Query = Callable[..., pl.LazyFrame]

QUERIES: dict[str, Query] = {
    query.__name__: query
    for query in (
        agents,
        cost,
        coverage,
        failure_classes,
        hardest,
        length_gap,
        metric_table,
        pass_rates,
        repeat_spread,
        reward_by_tokens,
        token_correlation,
        zero_signal,
    )
}
