"""The rule by which rollouts pass: from options, else from a file of the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, FiniteFloat, ValidationError, field_validator

from pipeline import names
from pipeline.analysis.scoring import PassRule
from pipeline.errors import UsageError
from pipeline.report.values import plain
from pipeline.sources.yaml_files import read_yaml, unknown_key
from pipeline.words import counted

if TYPE_CHECKING:
    from pipeline.cli.asked import RuleAsked
    from pipeline.cli.console import Console
    from pipeline.sources.runs import RunFiles

FILE = "rollprof.yaml"
LIKE = "Write it like score: reward, pass_threshold: 0.5 and agents: {NAME: 0.8}, a line each."

_NO_NUMBER = "this is no finite number"
IN_WORDS = {
    "string_type": "this is no name of a metric",
    "dict_type": "these are no agents with a threshold each",
    "float_type": _NO_NUMBER,
    "float_parsing": _NO_NUMBER,
    "finite_number": _NO_NUMBER,
}
"""What is wrong with a value, by what the model calls it."""


class _Settings(BaseModel):
    """What a file of rules may say."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    score: str | None = None
    pass_threshold: FiniteFloat | None = None
    agents: Mapping[str, FiniteFloat] = {}

    @field_validator("pass_threshold", "agents", mode="before")
    @classmethod
    def _no_flags(cls, given: object) -> object:
        values = given.values() if isinstance(given, dict) else (given,)
        if any(isinstance(value, bool) for value in values):
            raise ValueError("yes and no are no thresholds")
        return given


def rules_file(asked: RuleAsked, files: RunFiles) -> Path | None:
    """The file of rules: the one asked for, else the one in the folder of the run, if there is one.

    Raises:
        UsageError: Several folders have one.
    """
    if asked.rules is not None:
        return Path(asked.rules)
    folders = dict.fromkeys(Path(source.path).parent for source in files.rollouts)
    found = [path for path in (folder / FILE for folder in folders) if path.is_file()]
    if len(found) > 1:
        shown = ", ".join(map(names.shown, found))
        raise UsageError(f"several files of rules: {shown}", hint="Choose one with --rules.")
    return found[0] if found else None


def pass_rule(asked: RuleAsked, path: Path | None, console: Console) -> PassRule:
    """The rule that was asked for, options before the file; that a file is used is said.

    A threshold given as an option for all agents takes the place of those that the file has for single ones.

    Args:
        asked: The options.
        path: The file, as `rules_file` gives it.
        console: Where to say it.

    Raises:
        SourceError: The file cannot be read, or is no YAML.
        UsageError: It holds no rules, or a threshold is no number.
    """
    kept = _settings(path) if path else _Settings()
    if path:
        console.say(f"Rules: {names.shown(path)}")
    overall, own = thresholds(asked)
    if overall is None:
        own = {**kept.agents, **own}
        overall = kept.pass_threshold
    score = asked.score or kept.score or names.REWARD
    return PassRule(score=score, threshold=1.0 if overall is None else overall, agents=own)


def rule_words(asked: RuleAsked) -> list[str]:
    """The options that ask for the same rule."""
    given = [("--score", asked.score), ("--rules", asked.rules)]
    given += [("--pass-threshold", text) for text in asked.pass_threshold or ()]
    return [word for option, value in given if value is not None for word in (option, value)]


def thresholds(asked: RuleAsked) -> tuple[float | None, dict[str, float]]:
    """The threshold of all agents that was asked for, and those of single ones.

    Raises:
        UsageError: One is no number.
    """
    overall, own = None, {}
    for text in asked.pass_threshold or ():
        agent, equals, number = text.rpartition("=")
        value = _number(text, number)
        if equals:
            own[agent] = value
        else:
            overall = value
    return overall, own


def warn_of_rule(rule: PassRule, agents: Sequence[str | None], *, partial: int, scored: int, console: Console) -> None:
    """Warns of scores for which passing is a matter of the rule, and of thresholds of agents that the run has not.

    Args:
        rule: The rule.
        agents: The agents of the run.
        partial: How many scores are neither 0 nor 1.
        scored: How many there are.
        console: Where to warn.
    """
    if partial:
        scores = f"{partial:,} of {counted(scored, 'score')} {'is' if partial == 1 else 'are'}"
        console.warn(f"{scores} neither 0 nor 1; what passes is decided by {rule}")
    for agent in rule.agents:
        if agent not in agents:
            there = ", ".join(name for name in agents if name is not None) or "it names none"
            console.warn(f"a threshold for {agent!r}, which is no agent of this run: {there}")


def _number(text: str, number: str) -> float:
    try:
        return PassRule(threshold=float(number)).threshold
    except ValueError as error:
        raise UsageError(f"--pass-threshold {text!r} is no threshold", hint="Write X or AGENT=X.") from error


def _settings(path: Path) -> _Settings:
    where = names.shown(path)
    try:
        return _Settings.model_validate(read_yaml(path, hint=LIKE))
    except ValidationError as error:
        found = error.errors(include_url=False)
        unknown = [one for one in found if one["type"] in {"extra_forbidden", "invalid_key"}]
        first = (unknown or found)[0]
        key = plain(".".join(map(str, first["loc"])))
        if unknown:
            raise unknown_key(key, list(_Settings.model_fields), where=where) from None
        said = str(first["msg"]).removeprefix("Value error, ")
        raise UsageError(f"{key}: {IN_WORDS.get(first['type'], said)}", where=where, hint=LIKE) from None
