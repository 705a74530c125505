"""What became of planned rollouts that did not finish."""

from pathlib import Path

from tests.queries.asking import answer, opened, rollout
from tests.runs import Row, planned


def failed(task: int, repeat: int, name: str | None) -> Row:
    """A failed attempt; without a class where it is None."""
    named = {} if name is None else {"_ng_failure_class": name}
    return {"_ng_task_index": task, "_ng_rollout_index": repeat, **named}


def test_classes_of_last_attempts_and_all_attempts(tmp_path: Path) -> None:
    inputs = [planned(task, repeat) for task in range(4) for repeat in range(2)]
    attempts = [(0, 0, "timeout"), (0, 1, "timeout"), (0, 1, "crash"), (1, 0, "timeout"), (1, 0, "timeout")]
    attempts += [(1, 1, "slow"), (9, 0, "timeout")]
    failures = [failed(*attempt) for attempt in attempts] + [failed(2, 0, None), failed(2, 1, "unknown")]
    run = opened(tmp_path, [rollout(0, 0, 1.0), rollout(1, 1, 0.0)], inputs=inputs, failures=failures)
    assert answer(run, "failure_classes").drop("message").rows() == [
        ("unknown", 2, 2 / 6, 0, 0),
        ("timeout", 1, 1 / 6, 4, 1),
        ("crash", 1, 1 / 6, 1, 0),
        ("unknown (named so)", 1, 1 / 6, 1, 0),
        ("unnamed", 1, 1 / 6, 1, 0),
        ("slow", 0, 0.0, 1, 1),
    ]


def test_a_run_whose_rollouts_all_finished_has_attempts_only(tmp_path: Path) -> None:
    run = opened(tmp_path, [rollout(0, 0, 1.0)], inputs=[planned()], failures=[failed(0, 0, "slow")])
    assert answer(run, "failure_classes").drop("message").rows() == [("slow", 0, None, 1, 1)]


def test_without_a_sidecar_nothing_is_known(tmp_path: Path) -> None:
    run = opened(tmp_path, [rollout(0, 0, 1.0)], inputs=[planned(), planned(1), planned(2)])
    assert answer(run, "failure_classes").drop("message").rows() == [("unknown", 2, 1.0, 0, 0)]


def test_classes_of_each_group(tmp_path: Path) -> None:
    inputs = [planned(0, repeat, topic="coins") for repeat in range(3)] + [planned(1, 0, topic="notes"), planned(2, 0)]
    attempts = [(0, 0, "timeout"), (0, 0, "crash"), (0, 1, "timeout"), (1, 0, "timeout"), (9, 0, "crash")]
    failures = [failed(*attempt) for attempt in attempts]
    run = opened(tmp_path, [rollout(0, 1, 1.0, topic="late")], inputs=inputs, failures=failures)
    assert answer(run, "failure_classes", by=["input.topic"]).drop("message").rows() == [
        ("coins", "crash", 1, 0.5, 1, 0),
        ("coins", "unknown", 1, 0.5, 0, 0),
        ("coins", "timeout", 0, 0.0, 2, 1),
        ("notes", "timeout", 1, 1.0, 1, 0),
        (None, "unknown", 1, 1.0, 0, 0),
    ]
    assert answer(run, "failure_classes", by=["row.topic"]).drop("message").rows() == [
        ("late", "timeout", 0, None, 1, 1),
        (None, "unknown", 2, 0.5, 0, 0),
        (None, "timeout", 1, 0.25, 2, 0),
        (None, "crash", 1, 0.25, 1, 0),
    ]


def test_each_class_has_the_first_message(tmp_path: Path) -> None:
    said = [("a", None), ("a", "first"), ("b", "other"), ("a", "second"), (None, "of none"), ("c", None)]
    failures = [failed(task, 0, name) | {"_ng_failure_message": message} for task, (name, message) in enumerate(said)]
    run = opened(tmp_path, [rollout(9, 0, 1.0)], inputs=[planned(task) for task in range(10)], failures=failures)
    found = answer(run, "failure_classes").select("failure_class", "message")
    assert dict(found.iter_rows()) == {"unknown": None, "a": "first", "b": "other", "c": None, "unnamed": "of none"}
