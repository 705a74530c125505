"""A comparison → an object for programs, and the commands that show what flipped."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from pipeline import names
from pipeline.cli.called import command_line
from pipeline.cli.comparison_notes import Named

if TYPE_CHECKING:
    from pipeline.analysis.comparison import Comparison


def show_commands(
    flips: pl.DataFrame, named: Named, inputs: tuple[Sequence[str], Sequence[str]], *, rule: Sequence[str]
) -> pl.DataFrame:
    """Adds `show` (String): the command that shows what flipped in both runs.

    Args:
        flips: As `task_flips` or `rollout_flips` gives them.
        named: The runs.
        inputs: The inputs files that were given for the base and for the candidate.
        rule: The options that say what passes.
    """
    key = (
        pl.format("{}:{}", "task", "rollout")
        if "rollout" in flips.columns
        else pl.col("candidate_task").cast(pl.String)
    )
    theirs, mine = (
        [word for one in given for word in (option, one)]
        for option, given in zip(("--against-inputs", "-i"), inputs, strict=True)
    )
    start = command_line("show", named.candidate)
    end = shlex.join(map(names.shown, (*mine, "--against", named.base, *theirs, *rule)))
    return flips.with_columns(pl.concat_str(pl.lit(f"{start} "), key, pl.lit(f" {end}")).alias("show"))


def as_object(named: Named, found: Comparison, *, flips: bool, limit: int | None) -> dict[str, Any]:
    """A comparison for programs."""
    facts, change, matched = found.facts, found.change, found.facts.matched
    overall = found.changes.head(1).to_dicts() if change.tasks else [{"up": 0, "down": 0, "same": 0}]
    score = change._asdict() | {
        "improved": overall[0]["up"],
        "worse": overall[0]["down"],
        "same": overall[0]["same"],
        "smallest_effect": found.smallest_effect,
        "t": change.change / change.se if change.change is not None and change.low is not None and change.se else None,
        "sign_flip": None if found.test is None else found.test._asdict(),
    }
    pairing: dict[str, Any] = {
        "shared": facts.shared,
        "by_agent": facts.by_agent,
        "tasks_of_other_agents": facts.of_others,
        "scored": facts.scored,
        "content_of": facts.of,
        "content_conflicts": len(facts.conflicts),
        "renumbered_tasks": len(facts.renumbered),
        "pooled_tasks": [int(one["tasks"].sum()) for one in facts.pooled],
        "tasks_without_key": list(facts.without_key),
        "other_agent_names": facts.other_agents,
        "unknown": [list(one) for one in facts.unknown],
    }
    if matched is not None:
        about = {"scored": matched.scored, "same": matched.same, "unchecked": matched.unchecked}
        alone = {"only_base": matched.alone[0], "only_candidate": matched.alone[1]}
        pairing["rollouts"] = about | {"other": len(matched.other)} | alone
    tables = {
        "changes": found.changes,
        "infrastructure": found.infrastructure,
        "alone": found.alone,
        **({"flips": found.flips} if flips else {}),
    }
    return {
        "candidate": names.shown(named.candidate),
        "verdict": found.verdict,
        "score": score,
        "pairing": pairing,
        "states": {name.replace(" ", "_"): count for name, count in found.states.items()},
        "tables": {name: (one.head(limit) if limit else one).to_dicts() for name, one in tables.items()},
    }
