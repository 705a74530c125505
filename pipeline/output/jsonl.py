"""Figures → JSON text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import IO

import polars as pl

from pipeline import names
from pipeline.frames.metrics import shape_of
from pipeline.profile.expressions import column
from pipeline.sources.reading import Metric

CLOSING = (pl.lit("}"), pl.col("_behind"))
"""The pieces of an info behind its metrics."""


def key_text(name: str) -> str:
    """A JSON key with its colon and the comma before it."""
    return f",{json.dumps(name, ensure_ascii=False)}:"


def members(table: pl.DataFrame, wanted: Iterable[str]) -> Iterator[pl.Expr]:
    """Members of a JSON object as pieces of text, in the order wanted; a member without a value has no text."""
    for name in wanted:
        key, value = pl.lit(key_text(name)), column(name).cast(pl.String)
        if table[name].null_count():
            yield pl.concat_str(key, value)
        else:  # saves one String column
            yield from (key, value)


def task_openings(tasks: pl.DataFrame, samples: pl.Series, *, fan_out: bool) -> pl.Series:
    """The text of profile rows up to their rollout infos."""
    figures = [name for name in tasks.columns if "/" in name and not name.startswith(names.INTERNAL)]
    counted = ("num_rollouts", "expected_num_rollouts", "missing_num_rollouts", "reward_profile_completion_pct")
    pieces = [pl.lit(f'{{"{names.TASK}":'), pl.col(names.TASK).cast(pl.String)]
    pieces += members(tasks, figures)
    if fan_out:
        pieces.append(agent_reference(tasks["_agent"]))
    pieces += [pl.lit(key_text("sample")), pl.lit(samples)]
    pieces += members(tasks, counted)
    pieces.append(pl.lit(key_text("rollout_infos") + "["))
    return tasks.select(pl.concat_str(pieces, ignore_nulls=True)).to_series()


def agent_reference(agents: pl.Series) -> pl.Expr:
    """The member `agent_ref` of each of these agents."""
    texts = {name: json.dumps({"name": name}, ensure_ascii=False) for name in agents.unique()}
    known = {name: text for name, text in texts.items() if name is not None}
    text = pl.col("_agent").replace_strict(known, default='{"name": null}', return_dtype=pl.String)
    return pl.concat_str(pl.lit(key_text(names.AGENT_REF)), text)


def task_rows(openings: pl.Series, counts: pl.Series, measured: pl.DataFrame, final: Mapping[Metric, str]) -> pl.Series:
    """Profile rows as text that follows one another, a piece a rollout.

    Args:
        openings: The rows up to their rollout infos.
        counts: How many rollouts each row has.
        measured: Their rollouts, row after row: both indices, `_shape` and metrics.
        final: The names of the metrics.
    """
    behind = counts.cum_sum()
    before = pl.Series([None], dtype=pl.String).new_from_index(0, len(measured)).scatter(behind - counts, openings)
    closings = pl.Series([","]).new_from_index(0, len(measured)).scatter(behind - 1, "]}\n")
    return rollout_infos(measured.with_columns(_before=before, _behind=closings), final)


def rollout_infos(measured: pl.DataFrame, final: Mapping[Metric, str]) -> pl.Series:
    """The info of each rollout: identity, reward, usage numbers in usage order, other numbers in row order.

    Args:
        measured: Rollouts with both indices, `_shape` and metrics, and the text `_before` and `_behind` each info.
        final: The names of the metrics.
    """
    orders = {shape: info_order(shape, final) for shape in measured["_shape"].unique()}
    usual = _merged(orders.values())
    texts = measured.select(_info_text(measured, usual))
    place = {metric: number for number, metric in enumerate(usual)}
    odd = {shape: order for shape, order in orders.items() if not _ascends([place[metric] for metric in order])}
    if not odd:
        return texts.to_series()
    rows = measured.with_row_index("_row").filter(pl.col("_shape").is_in(list(odd)))
    return texts.to_series().scatter(rows["_row"], _in_their_own_order(rows, odd))


def info_order(shape: str | None, final: Mapping[Metric, str]) -> list[str]:
    """The metrics of a row's info in order: reward, usage numbers, other numbers."""
    top, usage = shape_of(shape)
    order = dict.fromkeys(final[metric] for metric in (*usage, *top) if metric in final)
    return sorted(order, key=lambda name: name != names.REWARD)


def agent_entries(agents: pl.DataFrame, repeats: pl.DataFrame) -> list[dict[str, object]]:
    """The objects of `*_agent_metrics.json`."""
    order = _metrics_in_repeat_order(repeats)
    across = [f"{label}_across_repeats/mean/{metric}" for metric in order for label in names.ACROSS_REPEATS]
    behind = frozenset((*across, *names.COVERAGE))
    figures = [name for name in agents.columns if name not in behind and "/" in name]
    entries = []
    for row in agents.iter_rows(named=True):
        entry = {name: row[name] for name in figures}
        entry[names.AGENT_REF] = {"name": row["_agent"]}
        entry |= {name: row.get(name) for name in (*across, *names.COVERAGE)}
        entries.append(_known(entry))
    return entries


def repeat_entries(repeats: pl.DataFrame) -> list[dict[str, object]]:
    """The objects of `*_repeat_level_metrics.json`."""
    metrics = sorted(name.removeprefix("mean/") for name in repeats.columns if name.startswith("mean/"))
    figures = [f"{label}/{metric}" for metric in metrics for label in names.AT_REPEAT]
    entries = []
    for row in repeats.iter_rows(named=True):
        counted = {name: row[name] for name in (names.ROLLOUT, "sample_count", "missing_count", *figures)}
        entries.append(_known({names.AGENT_REF: {"name": row["_agent"]}, **counted}))
    return entries


def json_text(value: object) -> bytes:
    """Compact JSON text without NaN."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def write_text(file: IO[bytes], texts: pl.Series) -> None:
    """Writes texts one after another as they are."""
    texts.to_frame().write_csv(file, include_header=False, quote_style="never", line_terminator="")


def _info_text(measured: pl.DataFrame, order: Iterable[str]) -> pl.Expr:
    pieces = [*_opening(measured), *members(measured, order), *CLOSING]
    return pl.concat_str(pieces, ignore_nulls=True).alias("text")


def _opening(measured: pl.DataFrame) -> Iterator[pl.Expr]:
    """The pieces of an info up to its metrics."""
    task, rollout = (pl.col(name).cast(pl.String) for name in names.KEY)
    yield from (pl.col("_before"), pl.lit(f'{{"{names.ROLLOUT_ID}":"'), task, pl.lit(":"), rollout, pl.lit('"'))
    yield from members(measured, names.KEY)


def _in_their_own_order(rows: pl.DataFrame, orders: Mapping[str, Sequence[str]]) -> pl.Series:
    """The info of each row with its metrics in the order that its shape has."""
    import numpy as np

    metrics = dict.fromkeys(chain.from_iterable(orders.values()))
    pieces = {
        "opening": pl.concat_str(*_opening(rows), ignore_nulls=True),
        "closing": pl.concat_str(*CLOSING, ignore_nulls=True),
        **{f"{number}": pl.concat_str(members(rows, [metric])) for number, metric in enumerate(metrics)},
    }
    cells = pl.concat(piece.alias("") for piece in rows.select(**pieces))
    number_of = {metric: number for number, metric in enumerate(metrics, 2)}
    wanted = {
        shape: np.array([0, *(number_of[metric] for metric in order), 1]) * len(rows) for shape, order in orders.items()
    }
    places = [wanted[shape] + row for row, shape in enumerate(rows["_shape"])]
    in_order = cells.gather(np.concatenate(places)).to_frame("piece")
    return (
        in_order.select(pl.col("piece"), row=np.repeat(np.arange(len(rows)), list(map(len, places))))
        .group_by("row", maintain_order=True)
        .agg(pl.col("piece").str.join(ignore_nulls=True))["piece"]
    )


def _merged(orders: Iterable[list[str]]) -> list[str]:
    """One order that agrees with as many of these as a single pass can: each new name goes behind its neighbour."""
    following: dict[str | None, str | None] = {None: None}
    for order in sorted(orders, key=len, reverse=True):
        before = None
        for metric in order:
            if metric not in following:
                following[before], following[metric] = metric, following[before]
            before = metric
    return list(_followed(following))


def _followed(following: Mapping[str | None, str | None]) -> Iterator[str]:
    """What follows one another from the beginning on."""
    metric = following[None]
    while metric is not None:
        yield metric
        metric = following[metric]


def _ascends(places: list[int]) -> bool:
    return all(one < other for one, other in pairwise(places))


def _metrics_in_repeat_order(repeats: pl.DataFrame) -> list[str]:
    """Metrics in the order in which they first appear over all repeat entries."""
    metrics = sorted(name.removeprefix("mean/") for name in repeats.columns if name.startswith("mean/"))
    never = len(repeats)
    first = {metric: _first_known(repeats[f"min/{metric}"], never) for metric in metrics}
    return sorted(metrics, key=lambda metric: (first[metric], metric))


def _first_known(values: pl.Series, never: int) -> int:
    known = values.is_not_null()
    place = known.arg_max() if len(known) else None
    return place if place is not None and known[place] else never


def _known(entry: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in entry.items() if value is not None}
