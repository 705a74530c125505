"""Environments by name and from the current folder."""

import importlib
import sys
from pathlib import Path

import pytest

from pipeline.collect.environments.finding import environment
from pipeline.collect.environments.multiple_choice import MultipleChoice
from pipeline.collect.environments.numeric_answer import NumericAnswer
from pipeline.errors import RollprofError, SourceError, UsageError

OWN = """
class Length:
    def __init__(self, most=10):
        self.most = most

    def verify(self, row, response):
        return {"reward": 1.0}

class Exits:
    def __init__(self):
        raise SystemExit(0)

    def verify(self, row, response):
        return {"reward": 1.0}

class Raises(Exits):
    def __init__(self):
        raise KeyError("gone")

class Silent:
    pass

number = 3
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "more_graders", raising=False)
    importlib.import_module("colorsys")  # as where it is looked for in this folder last
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_shipped() -> None:
    assert isinstance(environment("numeric_answer"), NumericAnswer)
    assert isinstance(environment("multiple_choice", {"grading_mode": "lenient_boxed"}), MultipleChoice)


def test_own(folder: Path) -> None:
    (folder / "own_graders.py").write_text(OWN)
    made = environment("own_graders:Length", {"most": 3})
    assert made.verify({}, {}) == {"reward": 1.0}
    assert vars(made) == {"most": 3}


@pytest.mark.parametrize(
    ("name", "options", "kind", "message", "hint"),
    [
        ("numeric", {}, UsageError, "no environment 'numeric'", "Did you mean numeric_answer?"),
        ("", {}, UsageError, "no environment ''", "module:Class"),
        ("numeric_answer", {"tolerence": 1}, UsageError, "tolerence", "It takes tolerance, needs_box."),
        ("numeric_answer", {"tolerance": 5}, UsageError, "tolerance is 5", ""),
        ("numeric_answer", {"tolerance": "x"}, UsageError, "tolerance: Input should be a valid number", ""),
        ("numeric_answer", {"needs_box": 3}, UsageError, "needs_box: Input should be a valid boolean", ""),
        ("absent_module:Thing", {}, UsageError, "no module 'absent_module'", "looked for"),
        ("more_graders:Absent", {}, UsageError, "nothing called 'Absent'", "module:Class"),
        ("more_graders:number", {}, UsageError, "no class called 'number'", "module:Class"),
        ("more_graders:Silent", {}, UsageError, "no method verify", "verify(self, row, response)"),
        ("more_graders:Length", {"least": 3}, UsageError, "least", "It takes most."),
        ("more_graders:Exits", {}, SourceError, "more_graders:Exits cannot be made: SystemExit: 0", ""),
        ("more_graders:Raises", {}, SourceError, "cannot be made: KeyError: 'gone'", ""),
        ("exiting_grader:Thing", {}, SourceError, "exiting_grader:Thing cannot be imported: SystemExit", ""),
        ("colorsys:Thing", {}, UsageError, "nothing called 'Thing'", "colorsys.py: give colorsys.py another name"),
        ("sys:Thing", {}, UsageError, "nothing called 'Thing'", "found first, in Python itself: give sys.py"),
        ("broken_grader:Thing", {}, SourceError, "SyntaxError", ""),
        ("needing_grader:Thing", {}, SourceError, "absent_package", ""),
        ("failing_grader:Thing", {}, SourceError, "ZeroDivisionError", ""),
    ],
)
def test_refused(
    name: str, options: dict[str, object], kind: type[RollprofError], message: str, hint: str, folder: Path
) -> None:
    (folder / "more_graders.py").write_text(OWN)
    (folder / "broken_grader.py").write_text("class Thing(:\n")
    (folder / "needing_grader.py").write_text("import absent_package\n")
    (folder / "exiting_grader.py").write_text("import sys\nsys.exit(0)\n")
    (folder / "colorsys.py").write_text(OWN)
    (folder / "sys.py").write_text(OWN)
    (folder / "failing_grader.py").write_text("1 / 0\n")
    with pytest.raises(kind) as refused:
        environment(name, options)
    assert message in refused.value.message
    assert hint in refused.value.hint
