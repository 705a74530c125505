"""A model's key is read from its variable, and written nowhere."""

from pathlib import Path

import pytest

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
