"""Facts of a run from frames and tallies."""

from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.errors import SourceError
from pipeline.frames.tally import Tally, Watched
from pipeline.options import ProfileOptions
from pipeline.report.inspection import Inspection, inspected
from pipeline.sources.inputs import request_inputs
from pipeline.sources.reading import Chunk, Job
from pipeline.sources.readings import Request, begin
from pipeline.sources.rollouts import request_rollouts
from pipeline.sources.runs import RunFiles, find_run
from tests.cli.run_files import INPUTS, write_run

OPTIONS = ProfileOptions()


def inspecting(request: Request, *, segment_bytes: int | None = None) -> Watched:
    """A reading that counts fields, in one job or in jobs of so many bytes."""
    counting = replace(request, template=request.template._replace(inspect=True))
    tally = Tally(counting.sources)
    reading = begin(counting, workers=1)
    if segment_bytes is not None:
        (whole,) = (job.segments[0] for job in reading.jobs)
        cuts = range(0, whole.stop or 0, segment_bytes)
        jobs = [
            counting.template._replace(
                segments=(whole._replace(start=cut, stop=min(cut + segment_bytes, whole.stop or 0)),)
            )
            for cut in cuts
        ]
        reading = replace(reading, jobs=jobs, chunks=(counting.read(job) for job in jobs))
    return Watched(tally, tally.watch(reading))


def failing(files: RunFiles, where: str) -> Watched:
    """A reading of inputs that fails with an error of a file."""

    def chunks() -> Generator[Chunk, None, None]:
        raise SourceError("cannot be read", where=where)
        yield

    watched = inspecting(request_inputs(files.inputs))
    assert watched.reading is not None
    return watched._replace(reading=replace(watched.reading, jobs=[Job(())], chunks=chunks()))


def inspect(files: RunFiles, inputs: Watched, *, segment_bytes: int | None = None) -> Inspection:
    rollouts = inspecting(request_rollouts(files.rollouts, OPTIONS), segment_bytes=segment_bytes)
    return inspected(files, OPTIONS, inputs=inputs, rollouts=rollouts)


def test_inputs_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    files = find_run([write_run(tmp_path)])
    found = inspect(files, failing(files, str(tmp_path / f"run{INPUTS}")))
    assert [file.unreadable for file in found.files] == [None, "cannot be read"]
    assert not found.inputs_known


def test_an_error_of_another_file_is_raised(tmp_path: Path) -> None:
    files = find_run([write_run(tmp_path)])
    with pytest.raises(SourceError):
        inspect(files, failing(files, str(tmp_path / "run.jsonl")))


@pytest.mark.parametrize("segment_bytes", [1, 7, 150, 1000])
def test_where_a_file_is_cut_does_not_matter(segment_bytes: int, tmp_path: Path) -> None:
    lines = [b'{"_ng_task_index":%d,"_ng_rollout_index":0,"f%d":%d}' % (n, n % 3, n) for n in range(9)]
    path = write_run(tmp_path, done=b"\n \n".join([*lines, b"nonsense", b'{"late":', b'{"late":1}']))
    files = find_run([path])
    whole, cut = (
        inspect(files, inspecting(request_inputs(files.inputs)), segment_bytes=n) for n in (None, segment_bytes)
    )
    assert whole == cut
    assert (whole.files[0].lines, whole.files[0].usable, whole.files[0].blank) == (23, 9, 11)


def test_a_tally_can_be_kept(tmp_path: Path) -> None:
    files = find_run([write_run(tmp_path)])
    watched = inspecting(request_rollouts(files.rollouts, OPTIONS))
    assert watched.reading is not None
    assert not watched.tally.whole
    list(watched.reading.chunks)
    assert watched.tally.whole
    again = Tally(files.rollouts)
    again.take(watched.tally.kept())
    assert (again.lines, again.objects, again.fields) == (
        watched.tally.lines,
        watched.tally.objects,
        watched.tally.fields,
    )
