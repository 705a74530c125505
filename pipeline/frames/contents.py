"""Tasks by their content, which is the same in two runs however they number them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import polars as pl

from pipeline import names
from pipeline.errors import SourceError
from pipeline.frames.lazy import collect, lazy_frame
from pipeline.frames.scanning import keep_frame, kept_frame
from pipeline.sources import cache
from pipeline.sources.contents import Of, content_of_request, contents_at
from pipeline.sources.fetching import Place
from pipeline.sources.files import Source, open_source

KEY_AND_PLACE = (*names.KEY, "_line", "_offset", "_length")
SCHEMA = {names.TASK: pl.Int64, "_content": pl.String}


def task_contents(
    inputs: pl.LazyFrame, sources: Iterable[Source] = (), *, of: Of = "row", cached: bool = False
) -> pl.LazyFrame:
    """The content of each task, read from its row of the lowest rollout index when it is first needed.

    Columns: `_ng_task_index` (Int64, sorted, each once), `_content` (String, 32 hexadecimal digits, as
    `content_of_row` says; null for a row without any). Two tasks with the same content ask the same.

    Args:
        inputs: As `scan_inputs` or `inputs_of_rollouts` gives them.
        sources: The files that they were read from; those that are not among them are opened by their names.
        of: `row` for the whole input row, `prompt` for `responses_create_params` alone, which dumps have too.
        cached: Whether the digests may come from the cache folder, and are kept there.

    Raises:
        SourceError: At collection: a row is no longer there.
    """
    known = {source.shown: source for source in sources}

    def read() -> pl.DataFrame:
        found = [
            _contents(known.get(str(shown)) or _opened(str(shown)), rows_of_source, of=of, cached=cached)
            for (shown,), rows_of_source in _first_rows(inputs).partition_by("_source", as_dict=True).items()
        ]
        whole = pl.concat([pl.DataFrame(schema=SCHEMA), *found]).sort(names.TASK)
        says_something = pl.col("_content") != content_of_request({})
        return whole.with_columns(pl.when(says_something).then("_content"))

    return lazy_frame(read)


def _first_rows(inputs: pl.LazyFrame) -> pl.DataFrame:
    """The place of one row of each task, sorted by source and offset."""
    whole = inputs.filter(pl.col("_problem").is_null()).sort(*names.KEY, "_file", "_line")
    return collect(
        whole.unique(names.TASK, keep="first", maintain_order=True)
        .select(*KEY_AND_PLACE, "_source")
        .sort("_source", "_offset", maintain_order=True)
    )


def _contents(source: Source, places: pl.DataFrame, *, of: Of, cached: bool) -> pl.DataFrame:
    where = hashlib.blake2b(places.select(KEY_AND_PLACE).to_numpy().tobytes(), digest_size=16).hexdigest()
    key = cache.key_for((source,), "contents", of, where) if cached else None
    if key is not None and (kept := kept_frame(key)) is not None:
        return kept
    digests = contents_at(source, (Place(*row) for row in places.select(KEY_AND_PLACE).iter_rows()), of=of)
    frame = pl.DataFrame({names.TASK: places[names.TASK], "_content": digests}, schema=SCHEMA)
    if key is not None:
        keep_frame(key, frame)
    return frame


def _opened(shown: str) -> Source:
    try:
        return open_source(shown)
    except SourceError as error:
        hint = "Put it back in its place, or tell tasks apart by their index (--key index)."
        raise SourceError("is not there, and tasks are told apart by what it holds", where=shown, hint=hint) from error
