"""The tasks of the invented runs: word problems and multiple choice, drawn from problems.json."""

from __future__ import annotations

import json
import operator
import random
import uuid
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Row = dict[str, Any]

BANK: dict[str, Any] = json.loads(Path(__file__).with_name("problems.json").read_text(encoding="utf-8"))
BEST_AND_WORST_SKILL = {"easy": (1.0, 0.7), "medium": (0.85, 0.3), "hard": (0.45, 0.0)}
OPERATIONS: dict[str, tuple[str, Callable[[int, int], int]]] = {
    "+": ("plus", operator.add),
    "-": ("minus", operator.sub),
    "*": ("times", operator.mul),
}


class Draws(random.Random):
    """A seeded generator that also draws identifiers."""

    def hex(self, digits: int) -> str:
        """Draw that many hexadecimal digits."""
        return f"{self.getrandbits(4 * digits):0{digits}x}"

    def uuid(self) -> str:
        """Draw a UUID of version 4."""
        return str(uuid.UUID(int=self.getrandbits(128), version=4))


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One task: what is asked, what is right, and how often a rollout of it is right (its skill)."""

    agent: str
    domain: str
    difficulty: str
    question: str
    answer: str
    wrong: Sequence[str]
    steps: Sequence[str]
    expressions: Sequence[tuple[str, str]] = ()
    options: Sequence[Row] = ()
    uid: str
    skill: float


def draw_problems(draws: Draws, *, math: int, choice: int) -> list[Problem]:
    """Draw the tasks of a run, in the order of their task indices."""
    templates = list(islice(cycle(BANK["math"]), math))
    problems = [math_problem(entry, draws, skill=skill) for entry, skill in with_skills(templates)]
    questions = with_skills(BANK["choice"][:choice])
    problems += [choice_problem(entry, draws, skill=skill) for entry, skill in questions]
    draws.shuffle(problems)
    return problems


def with_skills(entries: Sequence[Row]) -> list[tuple[Row, float]]:
    """Pair each entry with a skill, spread evenly from the best to the worst of its difficulty."""
    pairs = []
    for difficulty, (best, worst) in BEST_AND_WORST_SKILL.items():
        group = [entry for entry in entries if entry["difficulty"] == difficulty]
        gap = (best - worst) / max(len(group) - 1, 1)
        pairs += [(entry, best - gap * place) for place, entry in enumerate(group)]
    return pairs


def math_problem(template: Row, draws: Draws, *, skill: float) -> Problem:
    """Fill a word problem with numbers and work it out from left to right."""
    numbers = [draws.randint(low, high) for low, high in template["ranges"]]
    total, steps, expressions = numbers[0], [], []
    for sign, number in zip(template["ops"], numbers[1:], strict=True):
        word, apply = OPERATIONS[sign]
        result = apply(total, number)
        steps.append(f"{total} {word} {number} is {result}.")
        expressions.append((f"{total}{sign}{number}", str(result)))
        total = result
    slip = draws.choice((1, 2, 10))
    return Problem(
        agent="math_agent",
        domain=template["domain"],
        difficulty=template["difficulty"],
        question=template["text"].format(*numbers),
        answer=str(total),
        wrong=[str(total + slip), str(total - slip), str(total + numbers[-1])],
        steps=steps,
        expressions=expressions,
        uid=draws.uuid(),
        skill=skill,
    )


def choice_problem(entry: Row, draws: Draws, *, skill: float) -> Problem:
    """Shuffle the options of a question and letter them."""
    texts = [entry["right"], *entry["wrong"]]
    draws.shuffle(texts)
    letters = dict(zip(texts, "ABCD", strict=True))
    listing = "\n".join(f"{letter}: {text}" for text, letter in letters.items())
    return Problem(
        agent="choice_agent",
        domain=entry["domain"],
        difficulty=entry["difficulty"],
        question=f"{entry['question']}\n{listing}",
        answer=letters[entry["right"]],
        wrong=[letters[text] for text in entry["wrong"]],
        steps=[entry["why"]],
        options=[{letter: text} for text, letter in letters.items()],
        uid=draws.uuid(),
        skill=skill,
    )
