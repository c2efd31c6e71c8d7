"""Tests against the op they call: what their fixtures fill, and how their reference implementations look it up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.finding import Confidence, Finding, Location, Message, Related, Severity
from checks.domain.indices.conventions import Convention, Meeting, Product, conventions, of_op
from checks.domain.indices.op_index import OpFacts
from checks.eval.symbolic.interpret import keys_of
from checks.lang.ir.source_file import Function, SourceFile
from checks.rules.semantics import _report
from checks.rules.semantics._bound_conventions import Sides
from checks.rules.semantics._fixture_fill import Filled, Use, filled
from checks.rules.semantics._fixtures import uses


@dataclass(frozen=True, slots=True)
class Trial:
    """A fixture that an op gets in a test, or a reference beside the op: `last` is its own last position."""

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
    def place(self) -> tuple[str, str, str, str, str]:
        """What stays the same when only the numbers change."""
        role, buffer, index, _, where = self.convention.same_place
        return self.kind, self.op.name, f"{role} {buffer} {index} {where}", self.function, self.test


class Trials:
    """The tests of one side."""

    def __init__(self, product: Product) -> None:
        self.library = product.library
        self._known: dict[str, list[Trial]] = {}

    def paths(self, ops: set[str]) -> list[str]:
        """Test files that name one of `ops`."""
        found = self.library.holding("python", *sorted(ops)) if ops else []
        return [p for p in found if self.library.config.is_test(p)]

    def of(self, path: str) -> list[Trial]:
        """Every fixture and reference of a test file for the ops that it calls."""
        if path not in self._known:
            self._known[path] = self._find(path)
        return self._known[path]

    def _find(self, path: str) -> list[Trial]:
        unit = self.library.unit(path)
        if unit is None:
            return []
        ops = {n for n in self.library.ops if n.encode() in self.library.files.get(path, b"")}
        references = {f.name: f for f in unit.functions if self._is_reference(f)}
        noted = uses(unit, frozenset(ops | references.keys()), self.library.watch)
        found: list[Trial] = []
        for use in noted:
            for facts in self._implementations(use.callee, unit) if use.callee in ops else ():
                found += self._fixtures(use, facts)
                beside = {u.callee for u in noted if u.test == use.test and u.callee in references}
                for name in sorted(beside):
                    found += self._references(use, facts, references[name])
        return list(dict.fromkeys(found))

    def _is_reference(self, function: Function) -> bool:
        if function.name.startswith("test"):
            return False
        names = {p.name for p in function.params}.union(*keys_of(function).values())
        return any(self.library.watch(name) for name in names)

    def _implementations(self, op: str, unit: SourceFile) -> list[OpFacts]:
        """The implementation that this test runs: by the module it imports the op from, else by where the test lies."""
        known = self.library.facts(op)
        modules = {i.module.rsplit(".", 1)[-1] for i in unit.imports if i.name in (op, "*")}
        near = self.library.config.hardware_of(unit.path)
        chosen = [f for f in known if f.hardware in modules] or [
            f for f in known if f.hardware == near and near
        ]
        return chosen or (known if len(known) == 1 else [])

    def _fixtures(self, use: Use, facts: OpFacts) -> Iterator[Trial]:
        for convention in of_op(facts):
            if convention.role != "read":
                continue
            got: Filled | None = filled(
                use, facts.params, convention.buffer, convention.index, convention.offset
            )
            if got is not None:
                where = (got.where.path, got.where.line, got.where.function)
                yield Trial("fixture", facts, convention, got.last, *where, use.test, got.guessed)

    def _references(self, use: Use, facts: OpFacts, function: Function) -> Iterator[Trial]:
        for mine in conventions(self.library.function_accesses(function)):
            for convention in of_op(facts):
                same = (mine.role, mine.buffer, mine.index) == (
                    convention.role,
                    convention.buffer,
                    convention.index,
                )
                if same and mine.offset.loads == convention.offset.loads:
                    where = (mine.access.path, mine.access.line, function.qualname)
                    yield Trial("reference", facts, convention, mine.offset.const, *where, use.test)


def stale(
    sides: Sides, trials: tuple[Trials, Trials], ops: set[str], changed: set[str]
) -> Iterator[Finding]:
    """Fixtures and references that disagree with the op after the change and did not, in this way, before.

    `trials` are the head's and the base's. Proved is what agreed before: a new fixture may mean to fill less.
    """
    now, then = trials
    groups: dict[tuple[object, ...], list[Trial]] = {}
    for path in sorted({*now.paths(ops), *changed}):
        wrong = [t for t in now.of(path) if t.last != t.convention.offset.const]
        old = (
            {(t.place, t.last, t.convention.offset) for t in then.of(sides.was(path))}
            if wrong
            else set()
        )
        for trial in wrong:
            if trial.guessed and not _agreed(sides, then, trial):
                continue
            if (trial.place, trial.last, trial.convention.offset) not in old:
                groups.setdefault(_group(sides, trial), []).append(trial)
    for _, found in sorted(groups.items(), key=lambda item: str(item[0])):
        found.sort(key=lambda t: (t.guessed, t.kind, t.path, t.line, t.test))
        yield _finding(sides, then, found)


def _group(sides: Sides, trial: Trial) -> tuple[object, ...]:
    """What one finding is about: the test's line, or the op's own line where its writer takes the test's side."""
    access = trial.convention.access
    if _blamed(sides, trial):
        return "op", access.path, access.line
    return "test", trial.path, trial.line, trial.op.name, trial.kind


def _blamed(sides: Sides, trial: Trial) -> Meeting | None:
    """The settled writer that agrees with the test and not with the op."""
    writer = (
        sides.head.writer(trial.op, trial.convention) if trial.convention.role == "read" else None
    )
    return writer if writer is not None and writer.convention.offset.const == trial.last else None


def _finding(sides: Sides, then: Trials, trials: list[Trial]) -> Finding:
    """One finding for a fixture or reference: against it, or against the op where the op's writer takes its side."""
    trial = trials[0]
    library = sides.head.library
    access = trial.convention.access
    blamed = _blamed(sides, trial) is not None
    writer = (
        sides.head.writer(trial.op, trial.convention) if trial.convention.role == "read" else None
    )
    tests = sorted({t.test for t in trials})
    args = {
        "kind": trial.kind,
        "op": trial.op.name,
        "where": access.function if blamed else trial.function,
        "other": trial.function if blamed else access.function,
        "tests": tests[:3],
        "count": len(tests),
        "mine": _report.position(trial.convention.index, trial.last),
        "reads": _report.position(trial.convention.index, trial.convention.offset),
        "role": trial.convention.role,
        "writer": writer.convention.access.function if writer else "",
    }
    lines = list(dict.fromkeys((t.path, t.line) for t in trials))
    evidence = [_report.step(library, _report.at(access), "op-looks", **args)]
    evidence += [_report.step(library, Location(*line), "test-says", **args) for line in lines[:4]]
    if writer is not None:
        evidence.append(
            _report.step(library, _report.at(writer.convention.access), "writer-stores", **args)
        )
    proved = not trial.guessed and _agreed(sides, then, trial)
    places = [Location(trial.path, trial.line), _report.at(access)]
    place, other = reversed(places) if blamed else places
    found = _report.finding(
        library,
        place,
        Severity.BUG if proved else Severity.QUESTION,
        Confidence.HIGH if proved else Confidence.MEDIUM,
        Message("against-test" if blamed else trial.kind, args),
        symbol=access.function if blamed else trial.function,
        evidence=evidence,
        related=(Related(other, Message("compare-with", {"op": trial.op.name})),),
    )
    return (
        found.with_fix(_report.nudge(library, place, _needed(trial, blamed))) if proved else found
    )


def _needed(trial: Trial, blamed: bool) -> int:
    """How far the place must move: the op's address or the reference's to the other, or the fixture's index."""
    gap = trial.last - trial.convention.offset.const
    return gap if blamed or trial.kind == "fixture" else -gap


def _agreed(sides: Sides, then: Trials, trial: Trial) -> bool:
    """Whether the same fixture or reference agreed with the op before the change."""
    old = then.of(sides.was(trial.path))
    return any(t.place == trial.place and t.last == t.convention.offset.const for t in old)
