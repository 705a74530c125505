"""A row → what its task asks, as a digest: the identity of a task that no numbering can change."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable
from typing import Any, Literal

import orjson

from pipeline import names
from pipeline.errors import SourceError
from pipeline.sources import rows
from pipeline.sources.fetching import Place, fetched
from pipeline.sources.fields import plain
from pipeline.sources.files import Source

Of = Literal["row", "prompt"]
"""What is compared: the whole input row, or what both rows have, the request alone."""
NOT_CONTENT = frozenset((names.AGENT_REF, names.SKILLS_REF, "reward_profiles"))
NOT_REQUEST = frozenset((names.SEED, "temperature", "top_p", "max_output_tokens", "model", names.METADATA))
BOOKKEEPING = "_ng_"
SAMPLE = "sample"
EXACT = 2.0**53
DIGEST_BYTES = 16


def contents_at(source: Source, places: Iterable[Place], *, of: Of = "row") -> list[str]:
    """The digest of the task that the row at each place asks; the places are in the order of their offsets.

    Args:
        source: A file of input rows, a profile, or, for the request alone, a dump.
        places: Where the rows stand.
        of: What is compared.

    Raises:
        SourceError: The source cannot be read, or another line stands at a place by now.
    """
    where = list(places)
    digest: Callable[[Any], str] = content_of_row if of == "row" else content_of_request
    found = []
    with rows.numbers_of_any_length():
        for place, line in zip(where, fetched(source, where), strict=True):
            row = rows.parse(memoryview(line))
            try:
                found.append(digest(_sample(row) if source.is_profile else row))
            except RecursionError:
                raise SourceError(
                    "is nested too deep to be told from other tasks by its content",
                    where=f"{source.shown}:{place.line}",
                    hint="Tell tasks apart by their index instead (--key index).",
                ) from None
    return found


def content_of_row(row: Any) -> str:
    """The digest of an input row: everything but who answers, how it is sampled, and the bookkeeping.

    Left out are `agent_ref`, `skills_ref`, `reward_profiles`, `_ng_*`, and of `responses_create_params` seed,
    temperature, top_p, max_output_tokens, model and metadata. The rest is taken as canonical JSON: keys sorted, of
    repeated keys the last one, no white space, numbers by their value. 1, 1.0 and 1e0 are the same number, whole
    numbers from 2^53 on are what they are written as, and NaN and Infinity are null, as they are in a profile.

    Args:
        row: A parsed object.

    Returns:
        32 hexadecimal digits: BLAKE2b with 128 bits.

    Raises:
        RecursionError: The row is nested too deep.
    """
    content = {
        key: value for key, value in plain(row).items() if key not in NOT_CONTENT and not key.startswith(BOOKKEEPING)
    }
    if names.PARAMS in content:
        content[names.PARAMS] = _request(content[names.PARAMS])
    return _digest(content)


def content_of_request(row: Any) -> str:
    """The digest of a row's `responses_create_params` alone, which a rollout has as well as the row it comes from.

    It is that of `content_of_row` for a row that has no other content.

    Raises:
        RecursionError: The row is nested too deep.
    """
    return _digest({names.PARAMS: _request(plain(rows.last(row, names.PARAMS)))} if names.PARAMS in row else {})


def _sample(row: Any) -> Any:
    """The input row that a profile row was made of."""
    sample = rows.last(row, SAMPLE)
    return sample if type(sample) in rows.OBJECTS else {}


def _request(params: Any) -> Any:
    if type(params) is not dict:
        return params
    return {key: value for key, value in params.items() if key not in NOT_REQUEST}


def _digest(content: Any) -> str:
    return hashlib.blake2b(_canonical(content), digest_size=DIGEST_BYTES).hexdigest()


def _canonical(content: Any) -> bytes:
    """Canonical JSON text; the quick writer does where no number may be spelled in two ways."""
    try:
        text = orjson.dumps(content, option=orjson.OPT_SORT_KEYS)
        if b".0" not in text:
            return text
        return orjson.dumps(_by_value(content), option=orjson.OPT_SORT_KEYS)
    except TypeError:  # what it cannot write: lone surrogates, whole numbers of more than 64 bits, deep nesting
        return json.dumps(_by_value(content), sort_keys=True, separators=(",", ":")).encode()


def _by_value(value: Any) -> Any:
    """A JSON value in which equal numbers are written alike."""
    if type(value) is float:
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() and abs(value) < EXACT else value
    if type(value) is dict:
        return {key: _by_value(inner) for key, inner in value.items()}
    return [_by_value(inner) for inner in value] if type(value) is list else value
