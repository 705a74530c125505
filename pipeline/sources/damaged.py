"""A compressed file that cannot be read to its end → what of it stands before the cut."""

from __future__ import annotations

from dataclasses import dataclass, fields

from pipeline.errors import SourceError
from pipeline.sources.files import Source
from pipeline.sources.lines import Segment, lines_of, open_plain

BLOCK = 1 << 16


@dataclass(frozen=True)
class CutOff(Source):
    """A compressed file without its end.

    Attributes:
        content: How many bytes it holds before that.
    """

    content: int = 0

    def whole(self, number: int = 0) -> Segment:
        """All lines before the cut; the last one may be torn."""
        return super().whole(number)._replace(stop=self.content, size=self.content)


def damage_of(source: Source) -> SourceError | None:
    """Why a file of lines cannot be read to its end; None if it can."""
    try:
        for _ in lines_of(source.whole()):
            pass
    except SourceError as error:
        return error
    return None


def before_the_cut(source: Source) -> CutOff | None:
    """What a compressed file holds where only its end is missing.

    None where its decompressor finds other damage, for what it gives before it notices may be anything. Of gz it may
    find a missing end where bytes in the middle were changed.
    """
    content = 0
    try:
        with open_plain(str(source.path), source.compression) as file:
            while block := file.read1(BLOCK):  # type: ignore[attr-defined]
                content += len(block)
    except EOFError:
        known = {field.name: getattr(source, field.name) for field in fields(Source)}
        cut = CutOff(**known, content=content)
        return None if damage_of(cut) else cut
    except Exception:  # noqa: BLE001 - each decompressor has errors of its own, and all of them mean damage
        return None
    return None
