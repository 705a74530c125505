"""What the demo model says, and the response it is wrapped in."""

from __future__ import annotations

from pipeline import names
from pipeline.collect.environments.base import Row
from pipeline.collect.serving.draws import Draws

CREATED = 1767225600.0
"""2026-01-01: the demo's clock stands still, so that two runs give the same bytes."""
OPENINGS = ("Let me see what is asked.", "First I look at what is given.", "I take this one step at a time.")
STEPS = (
    "The first part follows from the question itself.",
    "I write that down and go on.",
    "Now the second part can be worked out.",
    "That leaves one thing to settle.",
    "I check this against what was given.",
    "It agrees, so I keep it.",
    "Another way to look at it gives the same.",
    "I go back once more to be sure.",
)
CLOSINGS = ("So the answer is \\boxed{{{}}}.", "Therefore \\boxed{{{}}}.", "The result is \\boxed{{{}}}")
CUT_AFTER = 0.6
MOST_STEPS = 24
TOKENS_A_STEP = 12
CHARACTERS_A_TOKEN = 4


def spoken(answer: str, draws: Draws, tokens: int) -> str:
    """A text of about so many tokens, at most some 300, that ends with the answer."""
    steps = min(max(tokens // TOKENS_A_STEP - 2, 0), MOST_STEPS)
    said = [draws.choice("opening", OPENINGS)]
    said += [draws.choice(f"step {place}", STEPS) for place in range(steps)]
    said.append(draws.choice("closing", CLOSINGS).format(answer))
    return " ".join(said)


def cut(text: str) -> str:
    """The text as it stands when there are no tokens left: before the answer."""
    return text[: int(text.find("\\boxed") * CUT_AFTER)].rstrip()


def unboxed(text: str) -> str:
    """The text with its answer outside of any box."""
    before, _, boxed = text.partition("\\boxed{")
    answer, _, after = boxed.rpartition("}")
    return f"{before}{answer}{after}"


def tokens_of(text: str) -> int:
    """About how many tokens a text has."""
    return max(1, len(text) // CHARACTERS_A_TOKEN)


def response(text: str, *, draws: Draws, params: Row, model: str, usage: Row | None, truncated: bool) -> Row:
    """A response in the Responses format."""
    part: Row = {"annotations": [], "text": text, "type": "output_text", "logprobs": None}
    status = "incomplete" if truncated else "completed"
    message: Row = {
        "id": f"msg_{draws.hex('message')}",
        "content": [part],
        "role": "assistant",
        "status": status,
        "type": "message",
    }
    return {
        "id": f"resp_{draws.hex('response')}",
        "created_at": CREATED,
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if truncated else None,
        "instructions": params.get("instructions"),
        names.METADATA: params.get(names.METADATA) or {},
        "model": model,
        "object": "response",
        "output": [message] if text else [],
        "parallel_tool_calls": params.get("parallel_tool_calls") or False,
        "temperature": params.get("temperature", 1.0),
        "tool_choice": params.get("tool_choice") or "auto",
        "tools": params.get("tools") or [],
        "top_p": params.get("top_p", 1.0),
        "max_output_tokens": params.get("max_output_tokens"),
        "status": status,
        "usage": usage,
    }


def usage_of(*, prompt: str, tokens: int, reasoning: int) -> Row:
    """Token counts: what was asked, what was said and thought, and both."""
    asked = tokens_of(prompt)
    return {
        "input_tokens": asked,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": tokens,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": asked + tokens,
    }
