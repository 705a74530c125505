"""A training set from candidates: what was asked, as one model, and what it chooses."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, model_validator

from pipeline.analysis import sampling
from pipeline.analysis.bands import Span, in_band, misfiled, need_width
from pipeline.analysis.candidates import MEAN, VERDICT, field_column
from pipeline.analysis.plain import plain_number
from pipeline.analysis.scoring import PassRule
from pipeline.analysis.screening import LEFT_BY, Rule, by_band, left_out, screened, steps
from pipeline.analysis.stages import staged
from pipeline.errors import UsageError
from pipeline.profile.expressions import column

WHERE = "_where"
LEAST_STAGES = 2
AsText = Annotated[Span, PlainSerializer(str)]
"""A range that is told as a user writes it, for JSON has no infinity."""


class Selection(BaseModel):
    """Which tasks are wanted.

    Attributes:
        pass_rule: Which metric is the score, and when a rollout passes.
        pass_rate: Where pass rates have to lie.
        confidence: How probable that has to be; None to take the observed rate for the true one.
        tolerance: How much the scores of a task may differ and still carry no signal.
        keep_no_signal: Whether tasks without signal stay.
        metrics: Metrics whose means have to lie in a range.
        verdict: The verdict that every voting rollout of a task needs.
        pairs: Whether only tasks of which some rollouts pass and some fail are of use.
        where: An SQL expression over candidates that has to be true.
        size: How many tasks at most.
        balance: The field of whose values there are to be equally many.
        ratio: `FIELD=VALUE:SHARE,…`.
        seed: Decides every draw.
        control: Whether as many tasks are drawn from all that have a score.
        stages: How many stages of a curriculum; None for none.
        domain: The field that makes the curriculum's domains.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    pass_rule: PassRule = PassRule()
    pass_rate: AsText | None = None
    confidence: float | None = Field(default=None, gt=0, lt=1)
    tolerance: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    keep_no_signal: bool = False
    metrics: tuple[tuple[str, AsText], ...] = ()
    verdict: str | None = None
    pairs: bool = False
    where: str | None = None
    size: int | None = Field(default=None, ge=1)
    balance: str | None = None
    ratio: str | None = None
    seed: int = 0
    control: bool = False
    stages: int | None = Field(default=None, ge=LEAST_STAGES)
    domain: str | None = None

    @model_validator(mode="after")
    def _fit(self) -> Selection:
        if self.confidence is not None and self.pass_rate is None:
            raise UsageError("--confidence goes with --pass-rate", hint="Say which pass rates are wanted.")
        if self.confidence is not None and self.pass_rate is not None:
            need_width(self.pass_rate)
        if self.keep_no_signal and self.tolerance:
            raise UsageError("--tolerance and --keep-no-signal exclude each other", hint="Leave one of them out.")
        if self.balance is not None and self.ratio is not None:
            raise UsageError("--balance and --ratio exclude each other", hint="Equal shares are a ratio too.")
        if self.domain is not None and self.stages is None:
            raise UsageError("--domain goes with --stages", hint="It makes the domains of a curriculum.")
        if self.pairs and (self.control or self.stages is not None):
            raise UsageError("--pairs goes with neither --control nor --stages", hint="Leave one of them out.")
        if self.ratio is not None:
            sampling.ratio_of(self.ratio)
        return self

    @property
    def shared(self) -> str | None:
        """The field whose values have shares."""
        return sampling.ratio_of(self.ratio)[0] if self.ratio is not None else self.balance

    @property
    def fields(self) -> list[str]:
        """The fields of samples that the choice rests on."""
        return list(dict.fromkeys(field for field in (self.shared, self.domain) if field is not None))


class Selected(NamedTuple):
    """What was chosen.

    Attributes:
        chosen: The candidates that were chosen, by task and agent; with `_stage` where stages were asked for.
        control: As many drawn from all that have a score; None where it was not asked for.
        steps: What each step left out, as `left_out` gives it.
        bands: How many there are and were chosen in each band, as `by_band` gives it.
        misfiled: How the naive filter compares, as `misfiled` gives it; None without a confidence.
        short: Values that have too few tasks for their share, and how many are wanting.
    """

    chosen: pl.DataFrame
    control: pl.DataFrame | None
    steps: pl.DataFrame
    bands: pl.DataFrame
    misfiled: dict[str, float] | None
    short: dict[str, int]


def select(candidates: pl.DataFrame, selection: Selection) -> Selected:
    """Chooses among candidates.

    Args:
        candidates: As `candidates` gives them; with `_where` (Boolean) if SQL is one of the rules.
        selection: What is wanted.
    """
    pool = candidates
    if selection.pass_rate is not None and selection.confidence is not None:
        pool = pool.with_columns(in_band=in_band(selection.pass_rate))
    rules = _rules(selection)
    told = screened(pool.lazy(), rules).collect(engine="in-memory")
    pool = pool.drop(WHERE, strict=False)
    kept = told.filter(pl.col(LEFT_BY).is_null()).select(map(column, pool.columns))
    chosen, short = _taken(kept, selection)
    counts = left_out(told, rules)
    if selection.size is not None or selection.shared is not None:
        counts = pl.concat([counts, steps([(_sampling_name(selection), len(kept), len(kept) - len(chosen))])])
    scored = pool.filter(pl.col("rollouts") > 0)
    control = None
    if selection.control:
        control = sampling.drawn(scored, len(chosen), seed=selection.seed, purpose="control")
    compared = None
    if selection.pass_rate is not None and selection.confidence is not None:
        compared = misfiled(scored, selection.pass_rate, confidence=selection.confidence)
    bands = by_band(pool, chosen, [(field, field_column(field)) for field in selection.fields])
    if selection.stages is not None:
        domain = None if selection.domain is None else field_column(selection.domain)
        chosen = staged(chosen, selection.stages, seed=selection.seed, domain=domain)
    return Selected(chosen=chosen, control=control, steps=counts, bands=bands, misfiled=compared, short=short)


def _rules(selection: Selection) -> list[Rule]:
    """The rules that candidates have to fulfil, in their order."""
    rules = [Rule("has a score", pl.col("rollouts") > 0)]
    if not selection.keep_no_signal:
        spread = pl.col("max_score") - pl.col("min_score")
        rules.append(Rule(f"signal: max - min > {plain_number(selection.tolerance)}", spread > selection.tolerance))
    if selection.pass_rate is not None and selection.confidence is not None:
        sure = f"pass rate in {selection.pass_rate} with probability {plain_number(selection.confidence)}"
        rules.append(Rule(sure, pl.col("in_band") >= selection.confidence))
    elif selection.pass_rate is not None:
        rules.append(Rule(f"pass rate in {selection.pass_rate}", selection.pass_rate.has(pl.col("pass_rate"))))
    for metric, span in selection.metrics:
        rules.append(Rule(f"mean {metric} in {span}", span.has(column(f"{MEAN}{metric}"))))
    if selection.verdict is not None:
        all_have_it = column(f"{VERDICT}{selection.verdict}") == pl.col("rollouts")
        rules.append(Rule(f"every rollout {selection.verdict}", all_have_it))
    if selection.pairs:
        mixed = (pl.col("passed") > 0) & (pl.col("passed") < pl.col("rollouts"))
        rules.append(Rule("some rollouts pass, some fail", mixed))
    if selection.where is not None:
        rules.append(Rule(f"where {selection.where}", pl.col(WHERE)))
    return rules + _field_rules(selection)


def _field_rules(selection: Selection) -> list[Rule]:
    """Only tasks that have the field can have a share of it."""
    if selection.shared is None:
        return []
    value = column(field_column(selection.shared))
    rules = [Rule(f"has {selection.shared}", value.is_not_null())]
    if selection.ratio is not None:
        rules.append(Rule(f"{selection.shared} in the ratio", value.is_in(list(sampling.ratio_of(selection.ratio)[1]))))
    return rules


def _taken(kept: pl.DataFrame, selection: Selection) -> tuple[pl.DataFrame, dict[str, int]]:
    """What sampling takes of the candidates that fulfil every rule, and which values have too few."""
    if selection.shared is None:
        size = len(kept) if selection.size is None else selection.size
        return sampling.drawn(kept, size, seed=selection.seed, purpose="size"), {}
    field = field_column(selection.shared)
    if selection.ratio is not None:
        shares = sampling.ratio_of(selection.ratio)[1]
    else:
        shares = sampling.equal_shares(kept[field].unique().sort().to_list())
    return sampling.shared_out(kept, field, shares, size=selection.size, seed=selection.seed)


def _sampling_name(selection: Selection) -> str:
    size = "" if selection.size is None else f"size {selection.size:,}"
    shared = "" if selection.shared is None else f"{'balance' if selection.balance else 'ratio'} {selection.shared}"
    return ", ".join(filter(None, (size, shared)))
