"""However a mapping ends, none of its threads ends with an exception, which Python would print."""

import threading

import pytest

from pipeline.errors import RollprofError
from pipeline.sources.workers import map_jobs
from tests.sources import work

RUNS = 12


@pytest.fixture
def unhandled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What ended threads that nothing handled."""
    found: list[str] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: found.append(f"{args.exc_type.__name__}: {args.exc_value}"))
    return found


def test_a_mapping_that_is_given_up(unhandled: list[str]) -> None:
    for _ in range(RUNS):
        results = map_jobs(work.squared, range(8), workers=4)
        next(results)
        results.close()  # type: ignore[attr-defined]
    assert unhandled == []


@pytest.mark.parametrize("job", [work.REFUSED, work.KILLED])
def test_a_mapping_that_is_refused(job: str, unhandled: list[str]) -> None:
    for _ in range(RUNS):
        with pytest.raises(RollprofError):
            list(map_jobs(work.obey, ["a", job, "b", "c"], workers=4))
    assert unhandled == []


def test_a_job_that_cannot_be_sent_is_an_error(unhandled: list[str]) -> None:
    """Without a time limit of its own, for it would not end."""
    ended: list[BaseException] = []

    def run() -> None:
        try:
            list(map_jobs(work.obey, ["a", lambda: None], workers=2))  # type: ignore[list-item]
        except BaseException as error:
            ended.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(2)
    assert ended
    assert unhandled == []
