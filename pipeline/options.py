"""What was asked, as one frozen model; combinations are checked here, once."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from pipeline import names
from pipeline.errors import UsageError

Masked = Literal["exclude", "include"]
OnDuplicate = Literal["error", "first", "last"]
OnExtra = Literal["error", "drop"]
OnBadLine = Literal["error", "skip"]
ROOTS = ("input.", "row.")
DETAILS = ("usage", "ng_perf")
"""Objects whose numbers are metrics wherever people ask their own questions: cached and reasoning tokens, timings."""
SHOWN = 5

Asked = tuple[str, tuple[str, ...]]
"""A field that was asked for: the column's name, and the keys that lead to it from the row."""


class ReadOptions(BaseModel):
    """How rollouts are read.

    Attributes:
        nested: Dotted paths of objects whose numbers are metrics as well.
        masked: Whether rollouts with a truthy `mask_sample` are left out of every figure.
        assign_indices: Whether rows without indices are numbered by their prompt.
        jobs: How many processes read; None for the cores this process may use.
        metrics: The metrics wanted, by their names where they stand in a row; the others are not kept. None for all.
        context: Whether to keep what rollouts are told apart by: short texts of both rows, truncation, `fields`.
        fields: `NAME=PATH` of more fields to keep with the context, which they imply; paths start with `input.` or
            `row.`.
        cache: Whether the numbers of an unchanged dump may be kept in, and taken from, the cache folder.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    nested: tuple[str, ...] = ()
    masked: Masked = "exclude"
    assign_indices: bool = False
    jobs: int | None = Field(default=None, ge=1)
    metrics: tuple[str, ...] | None = None
    context: bool = False
    fields: tuple[str, ...] = ()
    cache: bool = False

    @model_validator(mode="before")
    @classmethod
    def _fields_are_context(cls, given: object) -> object:
        return {**given, "context": True} if isinstance(given, dict) and given.get("fields") else given

    @field_validator("nested", "fields", mode="before")
    @classmethod
    def _one_or_several(cls, given: object) -> object:
        return (given,) if isinstance(given, str) else given

    @field_validator("nested")
    @classmethod
    def _paths(cls, nested: tuple[str, ...]) -> tuple[str, ...]:
        for path in nested:
            if not all(path.split(".")):
                raise UsageError(
                    f"--nested {path!r} is no dotted path", hint="Write it like reward_components or a.b.c."
                )
            if path.startswith(names.INTERNAL):
                raise UsageError(f"--nested {path!r} leads nowhere", hint="Names that start with _ are never metrics.")
        return tuple(dict.fromkeys(nested))

    @field_validator("fields")
    @classmethod
    def _named_paths(cls, fields: tuple[str, ...]) -> tuple[str, ...]:
        columns = []
        for field in fields:
            name, equals, path = field.partition("=")
            hint = "Write it like difficulty=input.meta.difficulty or model=row.response.model."
            if not (name and equals and path):
                raise UsageError(f"--field {field!r} is not NAME=PATH", hint=hint)
            if not (path.startswith(ROOTS) and all(path.split("."))):
                raise UsageError(f"--field {field!r}: the path starts neither with input. nor with row.", hint=hint)
            columns.append(names.internal(name))
            taken = columns[-1] in names.ROLLOUT_COLUMNS or columns[-1].removeprefix(names.INTERNAL).startswith(ROOTS)
            if taken or columns[-1] in columns[:-1]:
                raise UsageError(f"--field {field!r}: the name {name} is taken", hint="Choose another name.")
        return fields

    def asked(self, root: str) -> tuple[Asked, ...]:
        """The fields whose paths start at a root (`_input.` or `_row.`)."""
        split = ((names.internal(name), path) for name, _, path in (field.partition("=") for field in self.fields))
        start = root.removeprefix(names.INTERNAL)
        return tuple(
            (column, tuple(path.removeprefix(start).split("."))) for column, path in split if path.startswith(start)
        )

    @property
    def nested_paths(self) -> tuple[tuple[str, ...], ...]:
        """The nested paths as keys; `usage` is `response.usage`."""
        paths = (tuple(path.split(".")) for path in self.nested)
        usage = (names.RESPONSE, names.USAGE)
        return tuple(path[1:] if path[:2] == usage else path for path in paths)


class ProfileOptions(ReadOptions):
    """How a run is profiled.

    Attributes:
        partial: Whether planned rollouts may be missing.
        on_duplicate: What to do with a key that is there twice in the rollouts.
        on_extra: What to do with a rollout that has no input row.
        on_bad_line: What to do with a line that cannot be used.
        counts: Whether task and agent rows say how many rollouts each figure rests on.
        rollouts_only: Whether the run has no inputs file.
        min_completion: The share of finished rollouts below which the command exits 5.
    """

    partial: bool = False
    on_duplicate: OnDuplicate = "error"
    on_extra: OnExtra = "error"
    on_bad_line: OnBadLine = "error"
    counts: bool = False
    rollouts_only: bool = False
    min_completion: float | None = Field(default=None, ge=0, le=1)

    @model_validator(mode="after")
    def _fit(self) -> ProfileOptions:
        if self.assign_indices and not self.rollouts_only:
            raise UsageError(
                "--assign-indices goes with --rollouts-only",
                hint="Rows that are numbered here cannot be matched with an inputs file.",
            )
        return self


def output_stem(rollouts: tuple[Path, ...], *, stem: Path | None = None, folder: Path | None = None) -> Path:
    """The path S that the outputs are named after.

    Raises:
        UsageError: There are several rollouts files and no stem was given.
    """
    if stem is None and len(rollouts) != 1:
        listed = names.listed(rollouts, most=SHOWN)
        raise UsageError(
            f"{len(rollouts)} rollouts files are one run, so its outputs need a name: {listed}",
            hint="Give it with -o STEM; the files are then STEM_reward_profiling.jsonl and so on.",
        )
    if stem is not None and not stem.name:
        raise UsageError("-o needs a name", where=str(stem), hint="For a folder use --output-dir.")
    chosen = names.stem_of(stem if stem is not None else rollouts[0])
    return folder / (chosen if stem is not None else chosen.name) if folder is not None else chosen
