"""What a row asks, in the parts that no option of a run changes, and what options of a run have put into it."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from pipeline import names
from pipeline.sources import rows
from pipeline.sources.contents import content_of_row
from pipeline.sources.fields import plain
from pipeline.sources.repeats import seed_span

PROMPT = "input"
TOOLS = "tools"
SINGLE = frozenset((str, int, float, bool, type(None)))
NOT_OVERRIDES = frozenset((PROMPT, TOOLS, names.METADATA, names.SEED))


class Asking(NamedTuple):
    """What a row asks.

    Attributes:
        fields: A digest of its own fields.
        prompt: A digest of the prompt and the tools; None without a prompt, which a run then makes by a template.
    """

    fields: str
    prompt: str | None

    def fits(self, planned: Asking) -> bool:
        """Whether a run may have planned a row by this one: all is the same but what options of a run change."""
        return self.fields == planned.fields and self.prompt in {planned.prompt, None}


def asking_of(row: Any, *, fields: bool = True) -> Asking:
    """What a row asks; `responses_create_params` beside prompt and tools are options that a run may override.

    Args:
        row: A parsed object.
        fields: Whether its own fields count; a rollout has others than the row it comes from.

    Raises:
        RecursionError: The row is nested too deep.
    """
    content = plain(row)
    params = content.get(names.PARAMS)
    asked = {key: params[key] for key in (PROMPT, TOOLS) if params.get(key)} if type(params) is dict else {}
    own = {key: value for key, value in content.items() if key != names.PARAMS} if fields else {}
    return Asking(content_of_row(own), content_of_row({names.PARAMS: asked}) if PROMPT in asked else None)


class RunLevel:
    """What options of a run may have put into the rows it planned, counted row by row.

    Attributes:
        rows: How many rows were looked at.
        seeds: How many of them pin a seed, in the request or in `metadata.extra_body`, where NeMo Gym puts it.
        skills: How many of them have a `skills_ref`.
        nulls: How many NaN and Infinity became null in them.
        alike: How many of them have the text of another one.
        again: How many lines of a dataset were left out, for the same line was written already.
    """

    def __init__(self) -> None:
        self.rows = self.seeds = self.skills = self.nulls = self.alike = self.again = 0
        self._params, self._skills = rows.Last(names.PARAMS), rows.Last(names.SKILLS_REF)
        self._seed = rows.Last(names.SEED)
        self._texts: set[int] = set()
        self._same: dict[str, tuple[Any, int]] = {}

    def add(self, row: Any, text: bytes) -> None:
        """Looks at a row and its text."""
        self.rows += 1
        digest = hash(text)
        self.alike += digest in self._texts
        self._texts.add(digest)
        self.skills += self._skills(row) is not None
        params = self._params(row)
        if type(params) not in rows.OBJECTS:
            return
        self.seeds += self._seed(params) is not None or seed_span(text) is not None
        for key, value in zip(params, params.values(), strict=True):
            if key in NOT_OVERRIDES or type(value) not in SINGLE:
                continue
            known, times = self._same.get(key, (value, 0))
            self._same[key] = (known, times + (type(value) is type(known) and value == known))

    def overrides(self) -> dict[str, str]:
        """The request's parameters that are the same in every row, as JSON: these may be overrides of the run."""
        same = {key: value for key, (value, times) in self._same.items() if times == self.rows}
        return {key: json.dumps(value, ensure_ascii=False) for key, value in same.items()}
