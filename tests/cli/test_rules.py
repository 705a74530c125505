"""The rule by which rollouts pass: options, and the file of the run."""

from pathlib import Path

import pytest

from pipeline.cli.asked import RuleAsked
from pipeline.cli.console import Console
from pipeline.cli.rules import pass_rule, rules_file
from pipeline.errors import RollprofError, SourceError, UsageError
from pipeline.sources.runs import find_run
from tests.cli.run_files import assert_refused
from tests.command import run_command

QUIET = Console(quiet=True)


def rule_of(folder: Path, settings: str | None, *thresholds: str, score: str | None = None) -> str:
    """The rule in words, of options and of a file's content."""
    path = folder / "rules.yaml"
    if settings is not None:
        path.write_text(settings)
    asked = RuleAsked(pass_threshold=list(thresholds) or None, score=score)
    return str(pass_rule(asked, None if settings is None else path, QUIET))


@pytest.mark.parametrize(
    ("settings", "thresholds", "rule"),
    [
        (None, [], "reward >= 1"),
        (None, ["0.25"], "reward >= 0.25"),
        (None, ["-1", "b=0.5"], "reward >= -1, b: reward >= 0.5"),
        (None, ["b=c=0.5"], "reward >= 1, b=c: reward >= 0.5"),
        ("", [], "reward >= 1"),
        ("pass_threshold: 0.5", [], "reward >= 0.5"),
        ("pass_threshold: 1e-3", [], "reward >= 0.001"),
        ("agents: {a: 0}", [], "reward >= 1, a: reward >= 0"),
        ("agents: {a: 0}", ["b=0"], "reward >= 1, a: reward >= 0, b: reward >= 0"),
        ("agents: {a: 0}", ["a=2"], "reward >= 1, a: reward >= 2"),
        ("agents: {a: 0}\npass_threshold: 0", ["0.5"], "reward >= 0.5"),
        ("score: other\npass_threshold: 2", [], "other >= 2"),
    ],
)
def test_options_come_before_the_file(settings: str | None, thresholds: list[str], rule: str, tmp_path: Path) -> None:
    assert rule_of(tmp_path, settings, *thresholds) == rule


def test_score(tmp_path: Path) -> None:
    assert rule_of(tmp_path, "score: other", score="mine") == "mine >= 1"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("scores: reward", "scores is no key\n  Did you mean score\\? There are score, pass_threshold, agents."),
        ("x: 1\nscore: [1]", "x is no key\n  There are score,"),
        ("1: 2", "1 is no key"),
        ("score: [1]", "score: this is no name of a metric"),
        ("pass_threshold: high", "pass_threshold: this is no finite number"),
        ("pass_threshold: [1]", "pass_threshold: this is no finite number"),
        ("pass_threshold: yes", "yes and no"),
        ("pass_threshold: .nan", "pass_threshold: this is no finite number"),
        ("agents: [a]", "agents: these are no agents with a threshold each"),
        ("agents: {a: .inf}", "agents.a: this is no finite number"),
        ("agents: {a: true}", "yes and no"),
        ("- score", "holds no keys"),
        ("score: [", "is no YAML"),
        ("score: !!python/object:os.system {}", "is no YAML"),
        ("score: 2026-13-45", "is no YAML"),
    ],
)
def test_files_that_hold_no_rules(settings: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(RollprofError, match=words) as refusal:
        rule_of(tmp_path, settings)
    assert refusal.value.where.endswith("rules.yaml")


@pytest.mark.parametrize("threshold", ["", "x", "a=", "a=x", "nan", "inf", "a=nan"])
def test_thresholds_that_are_none(threshold: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no threshold"):
        rule_of(tmp_path, None, threshold)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be read"):
        pass_rule(RuleAsked(), tmp_path / "absent.yaml", QUIET)


def test_the_file_of_the_run(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "rollouts.jsonl").write_bytes(b'{"reward":1}\n')
    paths = [tmp_path / name / "rollouts.jsonl" for name in "ab"]
    both = find_run(paths, inputs_needed=False)
    assert rules_file(RuleAsked(), both) is None
    (tmp_path / "a/rollprof.yaml").touch()
    assert rules_file(RuleAsked(), both) == tmp_path / "a/rollprof.yaml"
    assert rules_file(RuleAsked(rules="x.yaml"), both) == Path("x.yaml")
    assert rules_file(RuleAsked(), find_run(tmp_path / "a", inputs_needed=False)) == tmp_path / "a/rollprof.yaml"
    (tmp_path / "b/rollprof.yaml").touch()
    with pytest.raises(UsageError, match="several files of rules"):
        rules_file(RuleAsked(), both)


@pytest.mark.parametrize(
    "words",
    [
        ["stats", "absent.jsonl"],
        ["compare", "absent.jsonl", "absent.jsonl"],
        ["select", "absent.jsonl", "--dry-run"],
        ["topup", "absent.jsonl", "--half-width", "0.1"],
        ["suspects", "absent.jsonl"],
        ["show", "absent.jsonl", "--contrast", "0"],
    ],
    ids=lambda words: words[0],
)
def test_a_mistake_is_told_before_the_run_is_read(words: list[str], tmp_path: Path) -> None:
    assert_refused(run_command([*words, "--pass-threshold", "x"], tmp_path), 2, "--pass-threshold 'x' is no threshold")
