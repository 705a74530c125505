"""Whatever an agent answers is a finished rollout or a failed attempt with its class; none of them ends the run."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.processes import run
from tests.cli.run_files import object_of
from tests.collect.datasets import failures_of, keys, rollouts_of, row, write_dataset
from tests.collect.scripted_agent import HUGE, Agent, agent
from tests.command import Finished


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    with agent(tmp_path_factory.mktemp("agent")) as one:
        yield one


def collected(folder: Path, running: Agent, *behave: list[str], args: tuple[str, ...] = ()) -> Finished:
    """Collects one row for each way to behave, without long pauses."""
    write_dataset(folder, [row(str(number), behave=one) for number, one in enumerate(behave)])
    options = ["--agent-url", running.url, "--backoff", "0.01", "--json", *args]
    return run(["collect", "-i", "data.jsonl", "-o", "out.jsonl", *options], folder)


FAILURES: dict[str, tuple[str, str, int | None]] = {
    "empty": ("empty_answer", "EmptyBody", 200),
    "malformed": ("malformed_answer", "JSONDecodeError", 200),
    "html": ("wrong_content_type", "ContentTypeError", 200),
    "list": ("malformed_answer", "JSONDecodeError", 200),
    "no reward": ("malformed_answer", "NoReward", 200),
    "error as success": ("model_error", "BadGateway", 200),
    "404": ("agent_run_error", "HTTPStatus", 404),
    "422": ("bad_request", "BadGateway", 422),
    "500": ("agent_run_error", "HTTPStatus", 500),
    "502": ("model_error", "BadGateway", 502),
    "429": ("agent_request_failed", "HTTPStatus", 429),
    "odd number to retry": ("agent_request_failed", "HTTPStatus", 429),
    "odd date to retry": ("agent_request_failed", "HTTPStatus", 429),
    "nowhere": ("collector_error", "UnicodeError", None),
    "surrogate": ("malformed_answer", "BadLineError", 200),
    "hang": ("timeout_exceeded", "TimeoutError", None),
    "disconnect": ("agent_request_failed", "ServerDisconnectedError", None),
}
RETRIED = {"odd number to retry", "odd date to retry", "500", "502", "429", "disconnect"}


def test_what_fails_has_a_class_and_the_rest_goes_on(running: Agent, tmp_path: Path) -> None:
    behave = [[name] for name in FAILURES]
    done = collected(tmp_path, running, ["ok"], *behave, ["ok"], args=("--timeout", "3", "--max-attempts", "2"))
    assert done.exit_code == 0, done.stderr
    assert sorted(keys(rollouts_of(tmp_path))) == [(0, 0), (len(FAILURES) + 1, 0)]
    failures = failures_of(tmp_path)
    for task, (name, (kind, type_, status)) in enumerate(FAILURES.items(), 1):
        lines = [line for line in failures if line["_ng_task_index"] == task]
        assert [line["_ng_attempt_index"] for line in lines] == ([0, 1] if name in RETRIED else [0]), name
        for line in lines:
            found = (line["_ng_failure_class"], line["_ng_failure_type"], line["_ng_failure_http_status"])
            assert found == (kind, type_, status), name
            assert line["_ng_failure_message"]
            assert line["agent_ref"] == {"name": "a"}
            assert line["_ng_rollout_index"] == 0
            assert "reward" not in line
            assert "response" not in line
            assert line.get("_ng_failure_terminal", False) is (name == "422")
    told = object_of(done)
    assert (told["planned"], told["finished"], told["failed"]) == (len(FAILURES) + 2, 2, len(FAILURES))
    assert sum(told["failure_classes"].values()) == len(FAILURES)
    assert told["failed_attempts_now"] == len(failures)
    profiled = object_of(run(["profile", "out.jsonl", "--partial", "--json"], tmp_path))
    assert profiled["accounting"]["failure_classes"] == told["failure_classes"]


@pytest.mark.parametrize("name", sorted(RETRIED))
def test_what_may_pass_is_tried_again(name: str, running: Agent, tmp_path: Path) -> None:
    done = collected(tmp_path, running, [name, "ok"])
    assert done.exit_code == 0, done.stderr
    (finished,) = rollouts_of(tmp_path)
    (failed,) = failures_of(tmp_path)
    assert (finished["_ng_attempt_index"], failed["_ng_attempt_index"]) == (1, 0)
    assert object_of(done)["failure_classes"] == {}


def test_retry_after_is_waited_for(running: Agent, tmp_path: Path) -> None:
    done = collected(tmp_path, running, ["429", "ok"])
    assert object_of(done)["seconds"] >= 1.0
    assert len(rollouts_of(tmp_path)) == 1


def test_an_agent_that_says_itself_that_it_failed(running: Agent, tmp_path: Path) -> None:
    # The fields of a real sidecar: the whole row of the agent, with its class, and whether that is final.
    done = collected(tmp_path, running, ["declared"], ["terminal"], ["not kept"], ["ok"])
    assert done.exit_code == 0
    assert keys(rollouts_of(tmp_path)) == [(3, 0)]
    judged, final = failures_of(tmp_path)
    assert (judged["_ng_failure_class"], judged["_ng_attempt_index"], judged["reward"]) == ("judge_failed", 0, 0.0)
    assert "_ng_failure_terminal" not in judged
    assert judged["responses_create_params"] == row("0")["responses_create_params"]
    assert (final["_ng_failure_class"], final["_ng_failure_terminal"]) == ("timeout_exceeded", True)
    assert object_of(done)["failure_classes"] == {"judge_failed": 1, "timeout_exceeded": 1, "kill_shaped": 1}


def test_no_usage_is_a_finished_rollout_and_told(running: Agent, tmp_path: Path) -> None:
    done = collected(tmp_path, running, ["no usage"], ["ok"])
    assert len(rollouts_of(tmp_path)) == 2
    assert "1 rollout does not say" in done.stderr
    assert object_of(done)["without_usage_now"] == 1


def test_ten_megabytes_are_one_line(running: Agent, tmp_path: Path) -> None:
    done = collected(tmp_path, running, ["huge"])
    assert done.exit_code == 0
    (finished,) = rollouts_of(tmp_path)
    assert len(finished["text"]) == HUGE


def test_more_than_is_wanted_is_not_read(running: Agent, tmp_path: Path) -> None:
    done = collected(tmp_path, running, ["huge"], ["ok"], args=("--max-answer-mb", "9.5"))
    assert done.exit_code == 0
    (failed,) = failures_of(tmp_path)
    assert failed["_ng_failure_class"] == "answer_too_large"
    assert "9.5 MB (--max-answer-mb)" in failed["_ng_failure_message"]


def test_an_answer_on_many_lines_is_one_line(running: Agent, tmp_path: Path) -> None:
    collected(tmp_path, running, ["pretty"], ["own keys"])
    content = (tmp_path / "out.jsonl").read_text()
    assert content.count("\n") == 2
    first, second = sorted(rollouts_of(tmp_path), key=lambda found: found["_ng_task_index"])
    assert (first["_ng_task_index"], first["agent_ref"]) == (0, {"name": "a"})
    assert (second["_ng_task_index"], second["agent_ref"]) == (1, {"name": "a"})
    assert second["_ng_environment_server"] == "server"


def test_a_reward_that_is_no_number_is_told(running: Agent, tmp_path: Path) -> None:
    done = collected(tmp_path, running, ["no number"], ["ok"])
    assert "1 finished rollout has no reward that can be averaged" in done.stderr
    assert object_of(done)["without_reward_now"] == 1


def test_a_long_number_is_finished_and_profiled(running: Agent, tmp_path: Path) -> None:
    done = collected(tmp_path, running, ["long number"], ["ok"])
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "out.jsonl").read_bytes().count(b"\n") == 2
    assert run(["profile", "out.jsonl"], tmp_path).exit_code == 0


def test_what_json_has_not_is_null(running: Agent, tmp_path: Path) -> None:
    done = collected(tmp_path, running, ["nan"])
    (finished,) = rollouts_of(tmp_path)
    assert (finished["score"], finished["text"], finished["reward"]) == (None, "NaN", 1.0)
    assert "NaN or Infinity" in done.stderr


def test_nothing_finished_is_no_success(running: Agent, tmp_path: Path) -> None:
    done = collected(tmp_path, running, ["404"])
    assert done.exit_code == 3
    assert object_of(done)["failure_classes"] == {"agent_run_error": 1}
    assert "not one rollout finished" in done.stderr
    assert "--resume" in done.stderr
