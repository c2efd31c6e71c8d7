"""What an index means to one function: the last token's position from the index, for each buffer it
touches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from checks.domain.indices.buffers import Buffers, OpSite
from checks.domain.indices.op_index import OpFacts, OpIndex
from checks.eval.symbolic.affine import Offset
from checks.eval.symbolic.values import BufferAccess


@dataclass(frozen=True, slots=True)
class Convention:
    """`role` (`write` or `read`) of `buffer` by one function: its last position is `offset` from
    the index `index`.

    -1 says that the index counts the tokens, 0 that it is the last token's position.
    """

    role: str
    buffer: str
    index: str
    offset: Offset
    access: BufferAccess

    @property
    def same_place(self) -> tuple[str, str, str, str, str]:
        """What stays the same when only the addressing changes."""
        return self.role, self.buffer, self.index, self.access.path, self.access.function

    @property
    def meaning(self) -> tuple[str, str, str, str, str, Offset]:
        """What two conventions that say the same have in common."""
        return (*self.same_place, self.offset)


def conventions(accesses: Iterable[BufferAccess]) -> list[Convention]:
    """One convention for each function, role and buffer: the furthest position of its windows at
    the end.

    A function that addresses one buffer from two different loaded values has none.
    """
    furthest: dict[tuple[str, str, str, str, str], Convention] = {}
    mixed: set[tuple[str, str, str, str, str]] = set()
    for access in accesses:
        convention = _convention(access)
        if convention is None:
            continue
        place = convention.same_place
        known = furthest.setdefault(place, convention)
        if known.offset.loads != convention.offset.loads:
            mixed.add(place)
        if convention.offset.const > known.offset.const:
            furthest[place] = convention
    return [convention for place, convention in furthest.items() if place not in mixed]


def _convention(access: BufferAccess) -> Convention | None:
    """What one access says, None where it does not move along a buffer with the index."""
    if access.kind == "compare" or not access.moves or access.high is None:
        return None
    if access.buffer == access.index:
        return None
    return Convention(access.kind, access.buffer, access.index, access.high, access)


def conventions_of_op(facts: OpFacts) -> list[Convention]:
    """The conventions of an op's code."""
    return conventions(facts.accesses)


@dataclass(frozen=True, slots=True)
class BoundConvention:
    """A convention of an op at one of its call sites: the buffer and index it is about, by name in
    the product."""

    facts: OpFacts
    site: OpSite
    convention: Convention
    buffer: str
    index: str
    offset: Offset

    @property
    def settled(self) -> bool:
        """Whether the op brings its index up to date itself, so that index and buffer agree when it
        is done."""
        if self.convention.role != "write":
            return False
        return self.facts.advance(self.convention.index) is not None


class SideIndex:
    """One side of a change: its ops, where they are called, and which conventions meet at a
    buffer."""

    def __init__(self, library: OpIndex) -> None:
        self.library = library
        self.buffers = Buffers(library)
        self._meetings: dict[tuple[str, str | None], list[BoundConvention]] = {}

    def meetings(self, op: str, hardware: str | None = None) -> list[BoundConvention]:
        """Every convention of `op` at every call site where both buffer and index could be
        followed."""
        key = (op, hardware)
        if key not in self._meetings:
            self._meetings[key] = list(self._find_meetings(op, hardware))
        return self._meetings[key]

    def _find_meetings(self, op: str, hardware: str | None) -> Iterator[BoundConvention]:
        for facts in self.library.facts(op, hardware):
            own = conventions_of_op(facts)
            if not own:
                continue
            for site in self.buffers.of(op):
                if site.runs(facts):
                    yield from _meetings_at(site, facts, own)

    def partners(self, meeting: BoundConvention) -> list[BoundConvention]:
        """The other side of `meeting`: writers for a reader and readers for a writer, on the same
        hardware."""
        words = {key.rsplit(".", 1)[-1] for key in (meeting.buffer, meeting.index)}
        ops = {site.op for site in self.buffers.mentioning(words)}
        role = "read" if meeting.convention.role == "write" else "write"
        # Of several call sites of one convention the first one stands for all.
        partners: dict[tuple[str, Convention], BoundConvention] = {}
        for op in sorted(ops):
            if not self._may_meet(op, meeting):
                continue
            for other in self.meetings(op, meeting.facts.hardware):
                if other.convention.role != role:
                    continue
                if (other.buffer, other.index) == (meeting.buffer, meeting.index):
                    partners.setdefault((other.facts.path, other.convention), other)
        return list(partners.values())

    def _may_meet(self, op: str, meeting: BoundConvention) -> bool:
        """Whether `op` gets the buffer and the index of `meeting` together, whatever it does with
        them."""
        wanted = {meeting.buffer, meeting.index}
        for facts in self.library.facts(op, meeting.facts.hardware):
            if not facts.indices:
                continue
            for site in self.buffers.of(op):
                if site.runs(facts) and wanted.issubset(site.keys(facts).values()):
                    return True
        return False

    def writer(self, facts: OpFacts, convention: Convention) -> BoundConvention | None:
        """The op that settles the buffer which `convention` reads, where all such ops mean the
        same."""
        for meeting in self.meetings(facts.name):
            if meeting.facts is not facts or meeting.convention != convention:
                continue
            writers = []
            for partner in self.partners(meeting):
                if partner.settled and partner.offset.loads == meeting.offset.loads:
                    writers.append(partner)
            offsets = {writer.offset for writer in writers}
            return writers[0] if len(offsets) == 1 else None
        return None


def _meetings_at(site: OpSite, facts: OpFacts, own: list[Convention]) -> Iterator[BoundConvention]:
    """The conventions of an op, with the buffers that one call passes."""
    keys = site.keys(facts)
    for convention in own:
        buffer, index = keys.get(convention.buffer), keys.get(convention.index)
        if buffer is not None and index is not None:
            offset = convention.offset.renamed(keys)
            yield BoundConvention(facts, site, convention, buffer, index, offset)
