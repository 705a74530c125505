"""`rollprof env start`: how it begins, what it refuses, and how it ends."""

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.cli.processes import end_of, environment, run, start, wait_until_idle
from tests.cli.run_files import assert_refused, object_of
from tests.collect.env_process import ROOT, ended_within, first_line, get, post, row, served, started

ANY = ["--head-port", "0"]
NUMERIC = ["env", "start", "--environment", "numeric_answer", *ANY]


def test_the_line_for_people(tmp_path: Path) -> None:
    with started([*NUMERIC[2:], "--agent-name", "math"], tmp_path) as process:
        assert process.stdout is not None
        words = process.stdout.readline().decode().split()
        assert words[:2] == ["ready:", "math"]
        assert words[3:5] == ["·", "head"]
        assert get(f"{words[2]}/healthz").content["status"] == "ok"
        assert get(f"{words[5]}/healthz").content["agents"] == {"math": words[2]}
        process.send_signal(signal.SIGINT)
        done = ended_within(process, 5)
    assert (done.exit_code, done.stdout) == (130, "")
    assert done.stderr == "rollprof: Interrupted; the servers have stopped.\n"


@pytest.mark.parametrize(("number", "exit_code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_cuts_what_is_under_way(number: int, exit_code: int, tmp_path: Path) -> None:
    replies: list[int] = []

    def ask(url: str) -> None:
        try:
            replies.append(post(f"{url}/run", row("?")).status)
        except OSError:
            replies.append(0)

    with started([*NUMERIC[2:], "--json", "--quiet", "--demo-faults", "hangs=always:1"], tmp_path) as process:
        url = first_line(process)["agents"]["numeric_answer_agent"]["url"]
        asking = [threading.Thread(target=ask, args=(url,)) for _ in range(3)]
        for thread in asking:
            thread.start()
        wait_until_idle(process)
        process.send_signal(number)
        done = ended_within(process, 5)
    assert (done.exit_code, done.stdout, done.stderr) == (exit_code, "", "")
    for thread in asking:
        thread.join(timeout=5)
    assert all(status == 0 or status >= 500 for status in replies)


def test_it_ends_with_whoever_started_it(tmp_path: Path) -> None:
    with started([*NUMERIC[2:], "--json", "--exit-with-stdin"], tmp_path, stdin=subprocess.PIPE) as process:
        url = first_line(process)["agents"]["numeric_answer_agent"]["url"]
        assert get(f"{url}/healthz").status == 200
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
        done = ended_within(process, 5)
    assert (done.exit_code, done.stderr) == (0, "rollprof: Standard input ended; the servers have stopped.\n")


def test_ports_follow_each_other(tmp_path: Path) -> None:
    (tmp_path / "env.yaml").write_text(
        "agents: {a: {environment: numeric_answer}, b: {environment: multiple_choice}, "
        "c: {environment: numeric_answer, port: 0}}\n"
    )
    first = two_free_ports()
    with served("--config", "env.yaml", cwd=tmp_path, port=str(first)) as servers:
        ports = [int(url.rpartition(":")[2]) for url in servers.agents.values()]
    assert ports[:2] == [first, first + 1]
    assert ports[2] not in {first, first + 1, first + 2}


def two_free_ports() -> int:
    while True:
        with socket.socket() as one, socket.socket() as other:
            one.bind(("127.0.0.1", 0))
            port: int = one.getsockname()[1]
            try:
                other.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port


def test_the_samples_are_served() -> None:
    rows = [json.loads(line) for line in (ROOT / "sample_data/demo/arithmetic.jsonl").read_text().splitlines()]
    with served("--config", "sample_data/demo/env.yaml", cwd=ROOT) as servers:
        results = [post(f"{servers.agents[one['agent_ref']['name']]}/run", one) for one in rows]
    assert [one.status for one in results] == [200] * len(rows)
    assert {one.content["reward"] for one in results} == {0.0, 1.0}


def test_a_port_in_use(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        for option in ("--port", "--head-port"):
            done = run([*NUMERIC, option, port], tmp_path)
            assert_refused(done, 3, f"port {port} of 127.0.0.1 is in use", option)


@pytest.mark.parametrize(
    ("args", "exit_code", "named"),
    [
        ([], 2, ["nothing to serve", "--environment"]),
        (["-e", "numeric_anser"], 2, ["no environment 'numeric_anser'", "Did you mean numeric_answer?"]),
        (["-e", "absent_grader:Thing"], 2, ["no module 'absent_grader'"]),
        (["-c", "absent.yaml"], 3, ["absent.yaml: cannot be read"]),
        (["-c", "broken.yaml"], 3, ["broken.yaml: is no YAML"]),
        (["-c", "typo.yaml"], 2, ["typo.yaml: model.urll is no key", "Did you mean url?"]),
        (["-c", "good.yaml", "-e", "numeric_answer"], 2, ["--environment goes without --config"]),
        (["-c", "good.yaml", "--agent-name", "a"], 2, ["--agent-name goes without --config"]),
        (["-c", "control.yaml"], 2, [r"'a\x1b[31m' is no name of an agent"]),
        (["-c", "unnamed.yaml"], 2, ["'' is no name of an agent"]),
        (["-c", "half.yaml"], 3, ["half.yaml: is no YAML: half a letter"]),
        (["-c", "twice.yaml"], 3, ["twice.yaml: is no YAML: the key 'agents' stands there twice"]),
        (["-c", "deep.yaml"], 3, ["deep.yaml: is no YAML: it is nested deeper than 50"]),
        (["-c", "kind.yaml"], 2, ["numeric_answer: tolerance: Input should be a valid number"]),
        (["-e", "numeric_answer", "--agent-name", ""], 2, ["'' is no name of an agent"]),
        (["-e", "a\x1b[31m:B"], 2, [r"no environment 'a\x1b[31m:B'"]),
        (["-e", "exiting_grader:Thing"], 3, ["exiting_grader:Thing cannot be imported: SystemExit: 0"]),
        (["-e", "numeric_answer", "--model", "m"], 2, ["--model-url"]),
        (["-e", "numeric_answer", "--model-url", "http://h"], 2, ["--model"]),
        (["-e", "numeric_answer", "--model", "m", "--model-url", "nonsense"], 2, ["no http address"]),
        (["-e", "numeric_answer", "--demo-faults", "error=1"], 2, ["Did you mean errors?"]),
        (["-e", "numeric_answer", "--port", "70000"], 2, ["--port"]),
        (["-e", "numeric_answer", "--host", "203.0.113.9"], 3, ["no address of this machine", "--host"]),
        (["-e", "numeric_answer", "--exit-with-stdin"], 2, ["--exit-with-stdin"]),
    ],
)
def test_refused(args: list[str], exit_code: int, named: list[str], tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("agents: [")
    (tmp_path / "typo.yaml").write_text("agents: {a: {environment: numeric_answer}}\nmodel: {urll: x}\n")
    (tmp_path / "good.yaml").write_text("agents: {a: {environment: numeric_answer}}\n")
    agent = "{environment: numeric_answer}"
    (tmp_path / "control.yaml").write_text(f'agents: {{"a\\e[31m": {agent}}}')
    (tmp_path / "unnamed.yaml").write_text(f"agents: {{'': {agent}}}")
    (tmp_path / "half.yaml").write_text(f'agents: {{"\\ud800": {agent}}}')
    (tmp_path / "twice.yaml").write_text(f"agents: {{a: {agent}}}\n" * 2)
    (tmp_path / "deep.yaml").write_text("[" * 20_000 + "]" * 20_000)
    (tmp_path / "kind.yaml").write_text("agents: {a: {environment: numeric_answer, options: {tolerance: x}}}")
    (tmp_path / "exiting_grader.py").write_text("import sys\nsys.exit(0)\n")
    done = run(["env", "start", *ANY, *args], tmp_path)
    assert "\x1b" not in done.stderr
    assert_refused(done, exit_code, *named)


def test_a_refusal_for_programs(tmp_path: Path) -> None:
    told = object_of(run(["env", "start", "--json"], tmp_path))
    assert (told["kind"], told["exit_code"], told["message"]) == ("usage", 2, "there is nothing to serve")


@pytest.mark.parametrize(
    ("variable", "value", "named"),
    [
        ("A_KEY", "", "the variable A_KEY is empty or not set"),
        ("A_KEY", "kéy-hush", "letters that cannot be sent"),
        ("sk-hush", "x", "name of a variable"),
    ],
)
def test_no_key(variable: str, value: str, named: str, tmp_path: Path) -> None:
    args = [*NUMERIC, "--model", "m", "--model-url", "http://127.0.0.1:9", "--model-api-key-env", variable]
    done = run(args, tmp_path, env=environment(A_KEY=value))
    assert_refused(done, 2, named)
    assert "hush" not in done.stdout + done.stderr


def test_a_package_is_missing(tmp_path: Path) -> None:
    without = "import sys; sys.modules['uvicorn'] = None; from rollprof import main; main()"
    done = end_of(start(NUMERIC, tmp_path, program=(sys.executable, "-c", without)))
    assert_refused(done, 3, "rollprof env start needs uvicorn", "python -m pip install --editable '.[collect]'")


def test_nobody_reads_the_line(tmp_path: Path) -> None:
    readable, writable = os.pipe()
    os.close(readable)
    with started(NUMERIC[2:], tmp_path, stdout=writable) as process:
        os.close(writable)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=2)
        process.terminate()
        assert ended_within(process, 5).stderr == "rollprof: Terminated; the servers have stopped.\n"


@pytest.mark.parametrize(("limits", "short"), [((64, 4096), False), ((64, 64), True)])
def test_more_connections_than_files_may_be_open(limits: tuple[int, int], short: bool, tmp_path: Path) -> None:
    limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limits)  # noqa: E731
    with started([*NUMERIC[2:], "--json"], tmp_path, preexec_fn=limit) as process:
        url = first_line(process)["agents"]["numeric_answer_agent"]["url"]
        parts = urlsplit(url)
        held = [socket.create_connection((parts.hostname or "", parts.port or 0)) for _ in range(100)]
        if short:  # it is told that they wait, and they are served when others have gone
            wait_until_idle(process)
            for one in held:
                one.close()
        assert post(f"{url}/run", row("?")).status == 200
        for one in held:
            one.close()
        process.terminate()
        done = ended_within(process, 5)
    last = "rollprof: Terminated; the servers have stopped.\n"
    waiting = "warning: connections wait: only 64 files may be open, and each is one; raise that with ulimit -n\n"
    assert done.stderr == (waiting + last if short else last)
