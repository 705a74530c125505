"""A model's key is read from its variable, and written nowhere."""

import json
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from pipeline.collect.api_key import api_key, blotted, blotted_words
from pipeline.errors import UsageError
from tests.cli.processes import environment, run
from tests.collect.datasets import failures_of, rollouts_of, row, write_dataset
from tests.collect.fake_upstream import upstream

KEY = "sk-hush-hush"
LEAKY = """
import os


class Leaky:
    def verify(self, row, response):
        if row["behave"] == "raise":
            raise ValueError("no, " + os.environ["A_KEY"])
        return {"reward": 1.0, "said": os.environ["A_KEY"]}
"""
CONFIG = """
agents: {a: {environment: "leaky:Leaky"}}
model: {name: m, url: "%s", api_key_env: A_KEY}
"""


def test_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    assert api_key(None) is None
    monkeypatch.setenv("A_KEY", f" {KEY}\n")
    assert api_key("A_KEY") == KEY


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("A_KEY", "", "is empty"),
        ("NONE", "x", "NONE is empty or not set"),
        ("A_KEY", "kéy-hush", "cannot be sent"),
        ("sk-hush", "x", "name of a variable"),
    ],
)
def test_no_key(variable: str, value: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", value)
    with pytest.raises(UsageError, match=words) as refused:
        api_key(variable)
    assert "hush" not in str(refused.value)


@pytest.mark.parametrize(
    ("key", "left"), [(None, KEY), (KEY, "***"), ("sk", KEY), ("12345678", KEY), ("other-key", KEY)]
)
def test_blotted(key: str | None, left: str) -> None:
    assert blotted(f'{{"a":"{KEY}","b":12345678}}'.encode(), key) == f'{{"a":"{left}","b":12345678}}'.encode()
    assert blotted_words(f"{KEY} \ud800", key) == f"{left} \ud800"


LETTERS = st.characters(min_codepoint=32, max_codepoint=126)
KEYS = st.one_of(st.just("sk-FAKE+hush/abc==1"), st.text(LETTERS, min_size=8, max_size=12)).map(str.strip)
FORMS = ("{}", "\\u00{:02x}", "\\u00{:02X}", "\\{}")


@given(
    key=KEYS.filter(lambda key: len(key) >= 8 and not key.isdigit() and "*" not in key),
    around=st.tuples(st.text(max_size=5), st.text(max_size=5)),
    forms=st.lists(st.integers(0, 3), min_size=20, max_size=20),
    depth=st.integers(0, 2),
)
@example(key="a-secret\\", around=("", ""), forms=[0] * 20, depth=1)
@example(key="a-secret\\\\", around=("", '"'), forms=[0] * 20, depth=2)
@example(key="a-secret\\", around=("", "\n"), forms=[1] * 20, depth=2)
def test_a_key_that_is_escaped(key: str, around: tuple[str, str], forms: list[int], depth: int) -> None:
    assume(not any(key in end for end in around))
    written = "".join(_written(letter, form) for letter, form in zip(key, forms, strict=False))
    before, after = (json.dumps(end)[1:-1] for end in around)
    text = f'["{before}{written}{after}"]'
    for _ in range(depth):
        text = json.dumps({"inside": text})
    left = blotted(text.encode(), key).decode()
    for _ in range(depth):
        left = json.loads(left)["inside"]
    (told,) = json.loads(left)
    assert key not in told
    assert "***" in told


def _written(letter: str, form: int) -> str:
    """A letter as JSON may write it."""
    if FORMS[form] == "\\{}":
        return json.dumps(letter)[1:-1] if letter != "/" else "\\/"
    return FORMS[form].format(letter if form == 0 else ord(letter)) if form or letter not in '"\\' else f"\\{letter}"


@pytest.mark.parametrize("key", [KEY, "a\\key\\with"])
def test_long_rows_of_backslashes_take_no_time(key: str) -> None:
    assert blotted(b"\\u00" + b"\\" * 1_000_000, key) == b"\\u00" + b"\\" * 1_000_000


def test_a_key_that_an_environment_repeats(tmp_path: Path) -> None:
    (tmp_path / "leaky.py").write_text(LEAKY)
    write_dataset(tmp_path, [row("x", behave="tell"), row("y", behave="raise")])
    with upstream() as endpoint:
        (tmp_path / "env.yaml").write_text(CONFIG % endpoint.url)
        args = ["collect", "-i", "data.jsonl", "-o", "out.jsonl", "-c", "env.yaml", "--max-attempts", "1"]
        done = run(args, tmp_path, env=environment(A_KEY=KEY))
    assert done.exit_code == 0, done.stderr
    assert [one["said"] for one in rollouts_of(tmp_path)] == ["***"]
    assert ["no, ***" in one["_ng_failure_message"] for one in failures_of(tmp_path)] == [True]
    assert KEY not in done.stdout + done.stderr
