"""The demo's dataset: word problems, and multiple choice about numbers, one row a task."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING

from invented_rollouts import dumps
from invented_tasks import Draws, Row, draw_problems

if TYPE_CHECKING:
    from collections.abc import Callable

DATASET = "arithmetic.jsonl"
MATH, CHOICE = 20, 16
MAX_OUTPUT_TOKENS = 480
ASKED = {
    "math_agent": "Solve the problem and write the number in \\boxed{}.",
    "choice_agent": "Pick the one right option and write its letter in \\boxed{}.",
}
RANGES = {"easy": (11, 40), "medium": (40, 150), "hard": (150, 900)}
Question = tuple[str, str, list[str]]


def demo_tasks(draws: Draws) -> dict[str, bytes]:
    """Make the dataset's file: rows as a user writes them, each with the agent that is to run it."""
    rows = [
        row_of("math_agent", problem.question, problem.answer, draws, domain=problem.domain, level=problem.difficulty)
        for problem in draw_problems(draws, math=MATH, choice=0)
    ]
    levels = list(RANGES)
    for place in range(CHOICE):
        domain, make = KINDS[place % len(KINDS)]
        level = levels[place // len(KINDS) % len(levels)]
        rows.append(choice_row(make(draws, *RANGES[level]), draws, domain=domain, level=level))
    draws.shuffle(rows)
    return {DATASET: "".join(f"{dumps(row)}\n" for row in rows).encode()}


def choice_row(question: Question, draws: Draws, *, domain: str, level: str) -> Row:
    """Letter the options in a drawn order."""
    text, right, wrong = question
    texts = [right, *wrong]
    draws.shuffle(texts)
    options = [{letter: option} for letter, option in zip("ABCD", texts, strict=True)]
    listing = "\n".join(f"{letter}: {option}" for letter, option in zip("ABCD", texts, strict=True))
    row = row_of("choice_agent", f"{text}\n{listing}", "ABCD"[texts.index(right)], draws, domain=domain, level=level)
    return {**row, "options": options, "grading_mode": "strict_single_letter_boxed"}


def row_of(agent: str, question: str, answer: str, draws: Draws, *, domain: str, level: str) -> Row:
    """Make a row of the dataset."""
    return {
        "responses_create_params": {
            "input": [{"role": "user", "content": f"{ASKED[agent]}\n{question}"}],
            "max_output_tokens": MAX_OUTPUT_TOKENS,
        },
        "expected_answer": answer,
        "domain": domain,
        "difficulty": level,
        "uuid": draws.uuid(),
        "agent_ref": {"type": "responses_api_agents", "name": agent},
    }


def remainder(draws: Draws, low: int, high: int) -> Question:
    """Ask for what a division leaves."""
    number, divisor = draws.randint(low, high), draws.randint(5, 9)
    left = number % divisor
    others = [str(other) for other in range(divisor) if other != left]
    return f"What is left when {number} is divided by {divisor}?", str(left), draws.sample(others, k=3)


def product(draws: Draws, low: int, high: int) -> Question:
    """Ask for a product; the others are near it."""
    first, second = draws.randint(low, high), draws.randint(6, 19)
    right = first * second
    return f"What is {first} times {second}?", str(right), [str(right + off) for off in (second, -first, 10)]


def prime(draws: Draws, low: int, high: int) -> Question:
    """Ask for the only prime number."""
    numbers = range(low | 1, high, 2)
    primes = [number for number in numbers if is_prime(number)]
    others = [number for number in numbers if not is_prime(number)]
    wrong = [str(number) for number in draws.sample(others, k=3)]
    return "Which of these is a prime number?", str(draws.choice(primes)), wrong


def is_prime(number: int) -> bool:
    """Say whether only 1 and itself divide a number."""
    return number > 1 and all(number % divisor for divisor in range(2, isqrt(number) + 1))


def largest(draws: Draws, low: int, high: int) -> Question:
    """Ask for the largest of four fractions."""
    found: set[Fraction] = set()
    while len(found) < len("ABCD"):
        bottom = draws.randint(low, high)
        found.add(Fraction(draws.randint(1, bottom - 1), bottom))
    *others, most = (str(fraction) for fraction in sorted(found))
    return "Which of these fractions is the largest?", most, others


KINDS: list[tuple[str, Callable[[Draws, int, int], Question]]] = [
    ("remainders", remainder),
    ("products", product),
    ("primes", prime),
    ("fractions", largest),
]
