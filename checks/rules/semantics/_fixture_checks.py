"""The fixtures and reference implementations of tests, beside the op that the tests call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.words import as_bytes
from checks.domain.indices.conventions import Convention, SideIndex, conventions, conventions_of_op
from checks.domain.indices.op_index import OpFacts
from checks.eval.symbolic.parameters import find_dict_keys
from checks.lang.ir.source_file import Function, SourceFile
from checks.rules.semantics._fixture_fill import FixtureUse, fill_extent
from checks.rules.semantics._fixtures import fixture_uses


@dataclass(frozen=True, slots=True)
class FixtureCheck:
    """A test's own last position, `last`, beside the one that the op takes, `convention`.

    `kind` is `fixture` for what an op gets in a test, or `reference` for an implementation that the
    op is compared with. `guessed` where a fixture does not fill its array by a slice.
    """

    kind: str
    op: OpFacts
    convention: Convention
    last: int
    path: str
    line: int
    function: str
    test: str
    guessed: bool = False

    @property
    def agrees(self) -> bool:
        return self.last == self.convention.offset.const


class FixtureChecks:
    """The fixtures and references of the tests of one side of a change."""

    def __init__(self, product: SideIndex) -> None:
        self.library = product.library
        self._by_path: dict[str, list[FixtureCheck]] = {}

    def paths(self, ops: set[str]) -> list[str]:
        """Test files that name one of `ops`."""
        if not ops:
            return []
        paths = self.library.holding("python", *sorted(ops))
        return [p for p in paths if self.library.config.is_test(p)]

    def of(self, path: str) -> list[FixtureCheck]:
        """Every fixture and reference of a test file for the ops that it calls."""
        if path not in self._by_path:
            self._by_path[path] = list(dict.fromkeys(self._search(path)))
        return self._by_path[path]

    def _search(self, path: str) -> Iterator[FixtureCheck]:
        unit = self.library.unit(path)
        if unit is None:
            return
        text = self.library.files.get(path, b"")
        ops = {name for name in self.library.ops if as_bytes(name) in text}
        references = {f.name: f for f in unit.functions if self._is_reference(f)}
        noted = fixture_uses(unit, frozenset(ops | references.keys()), self.library.watch)
        for call in noted:
            if call.callee not in ops:
                continue
            same_test = {c.callee for c in noted if c.test == call.test}
            for facts in self._implementations(call.callee, unit):
                yield from self._fixtures(call, facts)
                for name in sorted(same_test & references.keys()):
                    yield from self._references(call, facts, references[name])

    def _is_reference(self, function: Function) -> bool:
        """Whether a function of a test file works with an index, and is no test itself."""
        if function.name.startswith("test"):
            return False
        names = {p.name for p in function.params}.union(*find_dict_keys(function).values())
        return any(self.library.watch(name) for name in names)

    def _implementations(self, op: str, unit: SourceFile) -> list[OpFacts]:
        """The implementation that a test runs.

        The module from which the test imports the op decides, else the folder that it lies in.
        """
        known = self.library.facts(op)
        modules = {i.module.rsplit(".", 1)[-1] for i in unit.imports if i.name in (op, "*")}
        imported = [f for f in known if f.hardware in modules]
        if imported:
            return imported
        hardware = self.library.config.hardware_of(unit.path)
        near = [f for f in known if f.hardware == hardware and hardware]
        if near:
            return near
        return known if len(known) == 1 else []

    def _fixtures(self, call: FixtureUse, facts: OpFacts) -> Iterator[FixtureCheck]:
        for convention in conventions_of_op(facts):
            if convention.role != "read":
                continue
            buffer, index = convention.buffer, convention.index
            extent = fill_extent(call, facts.params, buffer, index, convention.offset)
            if extent is None:
                continue
            yield FixtureCheck(
                "fixture",
                facts,
                convention,
                extent.last,
                extent.where.path,
                extent.where.line,
                extent.where.function,
                call.test,
                extent.guessed,
            )

    def _references(
        self, call: FixtureUse, facts: OpFacts, function: Function
    ) -> Iterator[FixtureCheck]:
        for reference in conventions(self.library.function_accesses(function)):
            for convention in conventions_of_op(facts):
                if not _is_comparable(reference, convention):
                    continue
                yield FixtureCheck(
                    "reference",
                    facts,
                    convention,
                    reference.offset.const,
                    reference.access.path,
                    reference.access.line,
                    function.qualname,
                    call.test,
                )


def _is_comparable(reference: Convention, convention: Convention) -> bool:
    """Whether two conventions are about one use of one buffer, counted from the same start."""
    if (reference.role, reference.buffer) != (convention.role, convention.buffer):
        return False
    if reference.index != convention.index:
        return False
    return reference.offset.loads == convention.offset.loads
