"""What each index means before and after a change: the facts that all rules about indices share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Side
from checks.domain.indices.buffers import calls, words_of_call
from checks.domain.indices.conventions import (
    BoundConvention,
    Convention,
    SideIndex,
    conventions_of_op,
)
from checks.domain.indices.op_index import OpFacts, OpIndex
from checks.domain.indices.relevance import TouchedFunctions, ops_of, touched_functions
from checks.eval.symbolic.run import IndexNames
from checks.lang.ir.expr import Call
from checks.lang.ir.source_file import Function, SourceFile
from checks.rules.semantics._fixture_checks import FixtureChecks


@dataclass(frozen=True, slots=True)
class ChangedCalls:
    """What changed Python functions pass to ops in another way than before.

    `functions` are (path, qualified name), and `ops` those that get other arguments in them.
    """

    ops: frozenset[str]
    functions: frozenset[tuple[str, str]]


@dataclass
class IndexComparison:
    """The product after (`head`) and before (`base`) a change, and what happened to its indices."""

    head: SideIndex
    base: SideIndex
    config: Config
    relevant: TouchedFunctions

    @cached_property
    def changed_ops(self) -> set[str]:
        """The ops to which a changed C++ function belongs, on either side."""
        ops: set[str] = set()
        for path, functions in self.relevant.cpp.items():
            ops |= ops_of(self.head.library, path, functions)
            ops |= ops_of(self.base.library, path, functions)
        return ops

    @cached_property
    def moved_ops(self) -> set[str]:
        """The changed ops that use a buffer or advance an index in another way than before."""
        return {op for op in self.changed_ops if self._has_moved(op)}

    @cached_property
    def changed_calls(self) -> ChangedCalls:
        """What changed Python functions pass to ops in another way than before."""
        ops: set[str] = set()
        functions: set[tuple[str, str]] = set()
        for path, names in self.relevant.product.items():
            base_path = self.base_path(path)
            changed: set[str] = set()
            for name in names:
                now = _index_calls(self.head, path, name)
                before = _index_calls(self.base, base_path, name)
                if now != before:
                    changed.add(name)
            if not changed:
                continue
            calls_before = [s.call for s in self.base.buffers.within(base_path, changed)]
            for site in self.head.buffers.within(path, changed):
                functions.add((site.path, site.function))
                if site.call not in calls_before:
                    ops.add(site.op)
        return ChangedCalls(frozenset(ops), frozenset(functions))

    @cached_property
    def changed_tests(self) -> set[str]:
        """The test files in which the change touched a function that names an index."""
        return set(self.relevant.tests)

    @cached_property
    def head_fixtures(self) -> FixtureChecks:
        return FixtureChecks(self.head)

    def base_path(self, path: str) -> str:
        """What the file was called before the change."""
        file = self.head.library.change.changed(path)
        return file.base_path if file is not None and file.base_path else path

    def facts_before(self, facts: OpFacts) -> OpFacts | None:
        """The same op on the same hardware before the change."""
        for old in self.base.library.facts(facts.name):
            if old.hardware == facts.hardware:
                return old
        return None

    def convention_before(self, facts: OpFacts, convention: Convention) -> Convention | None:
        """The convention of the same function, role and parameters before the change."""
        role, buffer, index, path, function = convention.same_place
        place_before = (role, buffer, index, self.base_path(path), function)
        for old in self.base.library.facts(facts.name):
            if old.hardware != facts.hardware:
                continue
            for candidate in conventions_of_op(old):
                if candidate.same_place == place_before:
                    return candidate
        return None

    def met_before(self, meeting: BoundConvention, old: Convention) -> bool:
        """Whether the op got this buffer and this index before the change too."""
        for candidate in self.base.meetings(meeting.facts.name):
            same_buffers = (candidate.buffer, candidate.index) == (meeting.buffer, meeting.index)
            if candidate.convention == old and same_buffers:
                return True
        return False

    def agreed_before(self, reader: BoundConvention, writer: BoundConvention) -> bool | None:
        """Whether the two agreed before the change; None where they did not both exist and meet."""
        old_reader = self.convention_before(reader.facts, reader.convention)
        old_writer = self.convention_before(writer.facts, writer.convention)
        if old_reader is None or old_writer is None:
            return None
        if not self.met_before(reader, old_reader) or not self.met_before(writer, old_writer):
            return None
        return old_reader.offset.const == old_writer.offset.const

    def is_unchanged(self, meeting: BoundConvention) -> bool:
        """Whether the op addressed this buffer in the same way before the change."""
        old = self.convention_before(meeting.facts, meeting.convention)
        if old is None or old.offset != meeting.convention.offset:
            return False
        return self.met_before(meeting, old)

    def _has_moved(self, op: str) -> bool:
        for now in self.head.library.facts(op):
            before = self.facts_before(now)
            if before is None:
                if _addressing(now):
                    return True
                continue
            if _addressing(now) != _addressing(before):
                return True
            # An index that is advanced elsewhere, or not any more, means something else to all.
            if dict(now.advances).keys() != dict(before.advances).keys():
                return True
        return False


def compare_indices(change: ChangeSet, config: Config) -> IndexComparison | None:
    """The comparison for this change, made once; None where the change touches no index."""
    # Nine rules ask for it, and to answer them every op concerned is run on symbols.
    return change.memo(IndexComparison, lambda: _compare(change, config))


def _compare(change: ChangeSet, config: Config) -> IndexComparison | None:
    watch = IndexNames(config.semantics.index)
    relevant = touched_functions(change, config, watch)
    if not relevant:
        return None
    head = SideIndex(OpIndex(change, Side.HEAD, config, watch))
    base = SideIndex(OpIndex(change, Side.BASE, config, watch, head.library))
    return IndexComparison(head, base, config, relevant)


def _addressing(facts: OpFacts) -> set[tuple[object, ...]]:
    """Which position each function of an op takes as the last one, for every buffer."""
    return {
        (c.role, c.buffer, c.index, c.access.function, c.offset) for c in conventions_of_op(facts)
    }


def _index_calls(product: SideIndex, path: str, name: str) -> list[Call]:
    """The calls in the Python functions `name` that are given an index, in order.

    What is called need not be a known op: that is asked only of functions in which these calls
    changed.
    """
    unit = product.library.unit(path)
    watch = product.library.watch
    if unit is None:
        return []
    found: list[Call] = []
    for function in unit.named(name):
        lines = _lines_with_index(function, unit, watch)
        if not lines:
            continue
        for call in calls(function.body, lines):
            if any(watch(word) for word in words_of_call(call)):
                found.append(call)
    return found


def _lines_with_index(function: Function, unit: SourceFile, watch: IndexNames) -> list[int]:
    lines: list[int] = []
    for number in range(function.start_line, function.end_line + 1):
        text = unit.text(number)
        if any(index in text for index in watch.names):
            lines.append(number)
    return lines
