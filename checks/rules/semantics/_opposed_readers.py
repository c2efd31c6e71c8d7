"""Readers that do not look where the writer of their buffer stores."""

from __future__ import annotations

from collections.abc import Iterator

from checks.domain.indices.conventions import BoundConvention
from checks.rules.semantics._comparison import IndexComparison


def opposed_readers(indices: IndexComparison) -> Iterator[tuple[BoundConvention, BoundConvention]]:
    """Every (reader, writer) of one buffer that disagree since this change touched one of them."""
    concerned = indices.moved_ops | indices.changed_calls.ops
    seen: set[tuple[object, object]] = set()
    for op in sorted(concerned):
        for reader, writer in _pairs(indices, op):
            key = (reader.convention, writer.convention)
            if key in seen or not writer.settled:
                continue
            # One counts from the prompt's end and the other from its start: not comparable.
            if reader.offset.loads != writer.offset.loads:
                continue
            seen.add(key)
            # The two arms of one choice never work on the same data.
            if indices.head.buffers.exclusive(reader.site, writer.site):
                continue
            if reader.offset.const == writer.offset.const:
                continue
            # What both did before as well is not the doing of this change.
            if not (indices.is_unchanged(reader) and indices.is_unchanged(writer)):
                yield reader, writer


def _pairs(indices: IndexComparison, op: str) -> Iterator[tuple[BoundConvention, BoundConvention]]:
    """(reader, writer) for each use that `op` makes of a buffer, and each op on the other side."""
    for meeting in indices.head.meetings(op):
        writes = meeting.convention.role == "write"
        # Only a writer that advances the index as well says what it means afterwards.
        if writes and not meeting.settled:
            continue
        for partner in indices.head.partners(meeting):
            if writes:
                yield partner, meeting
            else:
                yield meeting, partner


def has_own_writer(
    indices: IndexComparison, reader: BoundConvention, writer: BoundConvention
) -> bool:
    """Whether another writer of the buffer agrees with the reader.

    It counts if it settles the index too, or if the function that calls the reader calls it as
    well.
    """
    for candidate in indices.head.partners(reader):
        if candidate.offset != reader.offset or candidate.convention == writer.convention:
            continue
        if candidate.settled or candidate.site.function == reader.site.function:
            return True
    return False
