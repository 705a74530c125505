"""Questions about a run, one a file: `(run, *, parameters) → LazyFrame`; a docstring's first line is its help."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from queries.pass_rates import pass_rates

Query = Callable[..., pl.LazyFrame]

QUERIES: dict[str, Query] = {query.__name__: query for query in (pass_rates,)}
