"""Figures → JSON text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import IO

import polars as pl

from pipeline import names
from pipeline.frames.metrics import shape_of
from pipeline.profile.expressions import column
from pipeline.sources.reading import Metric


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
    odd = [shape for shape, order in orders.items() if not _ascends([place[metric] for metric in order])]
    if not odd:
        return texts.to_series()
    parts = measured.with_row_index("_row").filter(pl.col("_shape").is_in(odd))
    rebuilt = [
        rows.select("_row", _info_text(rows, orders[shape]))
        for (shape,), rows in parts.partition_by("_shape", as_dict=True).items()
    ]
    changed = pl.concat(rebuilt)
    return texts.to_series().scatter(changed["_row"], changed.to_series(1))


def info_order(shape: str | None, final: Mapping[Metric, str]) -> list[str]:
    """The metrics of a row's info in order: reward, usage numbers, other numbers."""
    top, usage = shape_of(shape)
    order = dict.fromkeys(final[metric] for metric in (*usage, *top) if metric in final)
    return sorted(order, key=lambda name: name != names.REWARD)


def agent_entries(agents: pl.DataFrame, repeats: pl.DataFrame) -> list[dict[str, object]]:
    """The objects of `*_agent_metrics.json`."""
    order = _metrics_in_repeat_order(repeats)
    across = [f"{label}_across_repeats/mean/{metric}" for metric in order for label in names.ACROSS_REPEATS]
    figures = [name for name in agents.columns if name not in {*across, *names.COVERAGE} and "/" in name]
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


def _info_text(measured: pl.DataFrame, order: Sequence[str]) -> pl.Expr:
    task, rollout = (pl.col(name).cast(pl.String) for name in names.KEY)
    identity = (pl.lit(f'{{"{names.ROLLOUT_ID}":"'), task, pl.lit(":"), rollout, pl.lit('"'))
    pieces = [pl.col("_before"), *identity, *members(measured, (*names.KEY, *order)), pl.lit("}"), pl.col("_behind")]
    return pl.concat_str(pieces, ignore_nulls=True).alias("text")


def _merged(orders: Iterable[list[str]]) -> list[str]:
    """One order that agrees with as many of these as a single pass can: each new name goes behind its neighbour."""
    merged: list[str] = []
    known: set[str] = set()
    for order in sorted(orders, key=len, reverse=True):
        after = 0
        for metric in order:
            if metric in known:
                after = merged.index(metric) + 1
            else:
                merged.insert(after, metric)
                known.add(metric)
                after += 1
    return merged


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
