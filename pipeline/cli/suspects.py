"""`rollprof suspects`: tasks to distrust."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import typer

from pipeline.cli.asked import FieldsAsked, RuleAsked, RunAsked, TableAsked
from pipeline.cli.console import Console
from pipeline.cli.spread import spread


class Reason(StrEnum):
    """Why a task is suspect."""

    wrong_key = "wrong_key"
    flaky_verifier = "flaky_verifier"
    same_task = "same_task"
    same_prompt = "same_prompt"


@dataclass(frozen=True)
class SuspectsAsked:
    """From where on a task is suspect."""

    reason: Annotated[list[Reason] | None, typer.Option(help="Look for this only; repeatable.")] = None
    answer_field: Annotated[
        str | None, typer.Option(help="The field that holds the answer; else extracted_answer.")
    ] = None
    min_rollouts: Annotated[
        int, typer.Option(min=2, help="wrong_key: rollouts with a score that a task has to have.")
    ] = 4
    min_share: Annotated[
        float, typer.Option(max=1.0, help="wrong_key: share of them that give the same answer, more than 0.")
    ] = 0.5
    max_chance: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="wrong_key: chance that so many of them agree on one of three.")
    ] = 0.1
    tolerance: Annotated[
        float, typer.Option(min=0.0, help="flaky_verifier: how much scores of an answer may differ.")
    ] = 0.0


@spread
def suspects(asked: RunAsked, fields: FieldsAsked, wanted: SuspectsAsked, rule: RuleAsked, table: TableAsked) -> None:
    """List tasks to distrust: a wrong key, a flaky verifier, the same prompt twice; with the rollouts that show it."""
    from pipeline.cli.opening import limit_threads

    limit_threads(asked.workers)
    from pipeline.cli.suspecting import list_suspects

    list_suspects(wanted, asked, fields, rule, table, Console(as_json=table.as_json, quiet=asked.quiet))
