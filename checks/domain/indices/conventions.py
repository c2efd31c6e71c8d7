"""What an index means to one function: the last token's position from the index, for each buffer it touches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from checks.domain.indices.buffers import Buffers, Site
from checks.domain.indices.op_index import Library, OpFacts
from checks.eval.symbolic.affine import Offset
from checks.eval.symbolic.values import Access


@dataclass(frozen=True, slots=True)
class Convention:
    """`role` (`write` or `read`) of `buffer` by one function: its last position is `offset` from the index `index`.

    -1 says that the index counts the tokens, 0 that it is the last token's position.
    """

    role: str
    buffer: str
    index: str
    offset: Offset
    access: Access

    @property
    def same_place(self) -> tuple[str, str, str, str, str]:
        """What stays the same when only the addressing changes."""
        return self.role, self.buffer, self.index, self.access.path, self.access.function

    @property
    def meaning(self) -> tuple[str, str, str, str, str, Offset]:
        return (*self.same_place, self.offset)


def conventions(accesses: Iterable[Access]) -> list[Convention]:
    """One convention for each function, role and buffer: the furthest position of its windows at the end."""
    best: dict[tuple[str, str, str, str, str], Convention] = {}
    mixed: set[tuple[str, str, str, str, str]] = set()
    for access in accesses:
        if (
            access.kind == "compare"
            or not access.moves
            or access.high is None
            or access.buffer == access.index
        ):
            continue
        found = Convention(access.kind, access.buffer, access.index, access.high, access)
        old = best.get(found.same_place)
        if old is not None and old.offset.loads != found.offset.loads:
            mixed.add(found.same_place)
        if old is None or found.offset.const > old.offset.const:
            best[found.same_place] = found
    return [c for place, c in best.items() if place not in mixed]


def of_op(facts: OpFacts) -> list[Convention]:
    return conventions(facts.accesses)


@dataclass(frozen=True, slots=True)
class Meeting:
    """A convention of an op at one of its call sites: the buffer and index it is about, by name in the product."""

    facts: OpFacts
    site: Site
    convention: Convention
    buffer: str
    index: str
    offset: Offset

    @property
    def settled(self) -> bool:
        """Whether the op brings its index up to date itself, so that index and buffer agree when it is done."""
        return (
            self.convention.role == "write"
            and self.facts.advance(self.convention.index) is not None
        )


class Product:
    """One side of a change: its ops, where they are called, and which conventions meet at a buffer."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.buffers = Buffers(library)
        self._meetings: dict[tuple[str, str | None], list[Meeting]] = {}

    def meetings(self, op: str, hardware: str | None = None) -> list[Meeting]:
        """Every convention of `op` at every call site where both buffer and index could be followed."""
        key = (op, hardware)
        if key not in self._meetings:
            known = [(facts, of_op(facts)) for facts in self.library.facts(op, hardware)]
            sites = self.buffers.of(op) if any(found for _, found in known) else []
            self._meetings[key] = [
                m
                for facts, found in known
                for s in sites
                if s.runs(facts)
                for m in self._at(facts, s, found)
            ]
        return self._meetings[key]

    def _at(self, facts: OpFacts, site: Site, known: list[Convention]) -> Iterable[Meeting]:
        keys = site.keys(facts)
        for convention in known:
            buffer, index = keys.get(convention.buffer), keys.get(convention.index)
            if buffer is not None and index is not None:
                offset = convention.offset.renamed(keys)
                yield Meeting(facts, site, convention, buffer, index, offset)

    def partners(self, meeting: Meeting) -> list[Meeting]:
        """The other side of `meeting`: writers for a reader and readers for a writer, on the same hardware."""
        words = {key.rsplit(".", 1)[-1] for key in (meeting.buffer, meeting.index)}
        ops = [
            op
            for op in sorted({s.op for s in self.buffers.mentioning(words)})
            if self._may_meet(op, meeting)
        ]
        wanted = "read" if meeting.convention.role == "write" else "write"
        found = [
            other
            for op in ops
            for other in self.meetings(op, meeting.facts.hardware)
            if other.convention.role == wanted
            and (other.buffer, other.index) == (meeting.buffer, meeting.index)
        ]
        return list({(m.facts.path, m.convention): m for m in reversed(found)}.values())[::-1]

    def _may_meet(self, op: str, meeting: Meeting) -> bool:
        """Whether `op` gets the buffer and the index of `meeting` together, whatever it does with them."""
        wanted = {meeting.buffer, meeting.index}
        known = [facts for facts in self.library.facts(op, meeting.facts.hardware) if facts.indices]
        sites = self.buffers.of(op) if known else []
        return any(
            wanted <= {*s.keys(facts).values()} for facts in known for s in sites if s.runs(facts)
        )

    def writer(self, facts: OpFacts, convention: Convention) -> Meeting | None:
        """The op that settles the buffer which `convention` reads, where all such ops mean the same."""
        for meeting in self.meetings(facts.name):
            if meeting.facts is facts and meeting.convention == convention:
                found = [
                    w
                    for w in self.partners(meeting)
                    if w.settled and w.offset.loads == meeting.offset.loads
                ]
                return found[0] if len({w.offset for w in found}) == 1 else None
        return None
