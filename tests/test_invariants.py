"""What is written does not depend on how a run is laid out, and is what a plain reading of the format gives."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.errors import FaultsError
from pipeline.options import ProfileOptions
from pipeline.sources import readings
from pipeline.sources.files import segments
from tests import packing
from tests.generated_runs import Run, in_files, line, rollout_of, runs
from tests.packing import Pack
from tests.runs import Profile, profile_files
from tests.slow_profile import difference, slow_profile

quick = partial(settings, deadline=None, suppress_health_check=[HealthCheck.too_slow])
PACKS: dict[str, Pack] = {"plain": bytes, **packing.PACKS}
SEGMENT_BYTES = 150


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("invariants")


@pytest.fixture
def small_segments() -> Iterator[None]:
    """Files of any size are cut into ranges, and are worth worker processes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(readings, "IN_PROCESS_BYTES", 0)
        patch.setattr(readings, "segments", lambda sources, **_: segments(sources, segment_bytes=SEGMENT_BYTES))
        yield


def written(folder: Path, inputs: Sequence[bytes], rollouts: Sequence[bytes], **options: object) -> Profile:
    found = profile_files(folder, inputs, rollouts, ProfileOptions.model_validate({"partial": True, **options}))
    assert isinstance(found, Profile), found
    return found


def whole(run: Run) -> Run:
    """The run as one file a role."""
    return Run([b"".join(run.inputs)], [b"".join(run.rollouts)])


@quick(max_examples=25)
@given(run=runs(partial=True), data=st.data())
def test_order_and_files_do_not_matter(folder: Path, run: Run, data: st.DataObject) -> None:
    want = written(folder, *whole(run), jobs=1)
    inputs, rollouts = data.draw(in_files(run.inputs)), data.draw(in_files(run.rollouts))
    assert written(folder, inputs, rollouts, jobs=1).contents == want.contents


@quick(max_examples=15)
@given(run=runs(partial=True), data=st.data(), pack=st.sampled_from(list(PACKS)))
def test_compression_does_not_matter(folder: Path, run: Run, data: st.DataObject, pack: str) -> None:
    want = written(folder, *whole(run), jobs=1)
    inputs, rollouts = (
        [PACKS[pack](content) for content in data.draw(in_files(lines))] for lines in (run.inputs, run.rollouts)
    )
    assert written(folder, inputs, rollouts, jobs=1).contents == want.contents


@quick(max_examples=18)
@given(run=runs(partial=True), data=st.data())
@pytest.mark.usefixtures("small_segments")
def test_ranges_do_not_matter(folder: Path, run: Run, data: st.DataObject) -> None:
    inputs, rollouts = data.draw(in_files(run.inputs)), data.draw(in_files(run.rollouts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(readings, "segments", segments)
        want = written(folder, *whole(run), jobs=1)
    assert written(folder, inputs, rollouts, jobs=1).contents == want.contents


@quick(max_examples=8)
@given(run=runs(partial=True), data=st.data(), pack=st.sampled_from(list(PACKS)))
@pytest.mark.usefixtures("small_segments")
def test_workers_do_not_matter(folder: Path, run: Run, data: st.DataObject, pack: str) -> None:
    want = written(folder, *whole(run), jobs=1)
    inputs, rollouts = (
        [PACKS[pack](content) for content in data.draw(in_files(lines))] for lines in (run.inputs, run.rollouts)
    )
    assert written(folder, inputs, rollouts, jobs=2).contents == want.contents


def assert_as_the_oracle_says(
    folder: Path, inputs: Sequence[bytes], rollouts: Sequence[bytes], options: ProfileOptions
) -> None:
    found = profile_files(folder, inputs, rollouts, options)
    asked = options.model_dump(include={"partial", "masked", "on_duplicate", "on_extra", "nested", "counts"})
    slow = slow_profile(inputs, rollouts, **asked)
    if isinstance(found, FaultsError):
        assert (slow.exit_code, {fault.replace(" ", "_") for fault in slow.faults}) == (
            found.exit_code,
            set(found.counts),
        )
        return
    assert slow.exit_code == 0
    assert difference(slow.tasks, found.tasks) is None
    assert difference(slow.agents, found.agents) is None
    assert difference(slow.repeats, found.repeats) is None


def options_of(*, partial: bool, masked: str) -> st.SearchStrategy[ProfileOptions]:
    nested = st.sampled_from([(), ("v",), ("v.y",), ("usage",), ("v", "usage")])
    return st.builds(
        lambda counts, nested: ProfileOptions.model_validate(
            {"partial": partial, "masked": masked, "counts": counts, "nested": nested, "jobs": 1}
        ),
        st.booleans(),
        nested,
    )


@quick(max_examples=28)
@given(run=runs(partial=True), options=options_of(partial=True, masked="exclude"))
def test_figures_of_a_run_with_masks_and_gaps(folder: Path, run: Run, options: ProfileOptions) -> None:
    assert_as_the_oracle_says(folder, *whole(run), options)


@quick(max_examples=20)
@given(run=runs(), options=options_of(partial=False, masked="include"))
def test_figures_where_masks_do_not_count(folder: Path, run: Run, options: ProfileOptions) -> None:
    assert_as_the_oracle_says(folder, *whole(run), options)


@quick(max_examples=22)
@given(run=runs(masks=False), options=options_of(partial=False, masked="exclude"))
def test_figures_of_a_run_with_fan_out(folder: Path, run: Run, options: ProfileOptions) -> None:
    assert_as_the_oracle_says(folder, *whole(run), options)


@quick(max_examples=28)
@given(
    run=runs(partial=True),
    data=st.data(),
    strict=st.booleans(),
    on_duplicate=st.sampled_from(["error", "first", "last"]),
    on_extra=st.sampled_from(["error", "drop"]),
)
def test_duplicates_and_extra_rollouts(
    folder: Path, run: Run, data: st.DataObject, strict: bool, on_duplicate: str, on_extra: str
) -> None:
    again = data.draw(st.lists(st.sampled_from(run.inputs).flatmap(rollout_of), max_size=3))
    extra = [line({"_ng_task_index": 99, "_ng_rollout_index": 0, "m": 1})] if data.draw(st.booleans()) else []
    rollouts = data.draw(in_files([*run.rollouts, *again, *extra]))
    asked = {"partial": not strict, "on_duplicate": on_duplicate, "on_extra": on_extra, "jobs": 1}
    inputs = [b"".join(run.inputs)] * data.draw(st.integers(1, 2))
    assert_as_the_oracle_says(folder, inputs, rollouts, ProfileOptions.model_validate(asked))
