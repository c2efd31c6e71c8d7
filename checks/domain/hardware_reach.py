"""Which hardware a line runs on, as far as the code asks for hardware by name (`current_platform.is_xpu()`,
`paddle.is_compiled_with_xpu()`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.domain.call_targets import Target, Targets, nearest_imports
from checks.domain.keys import asks_platform, product_files
from checks.domain.ops import arguments, expressions_of
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, GuardedStmt, Raise, guarded_statements

_COMMON = frozenset(
    {
        "config",
        "enable",
        "model",
        "output",
        "current",
        "platform",
        "tensors",
        "inputs",
        "share",
        "sampler",
    }
)


def holds_on(test: E.Expr, hardware: str, config: Config) -> bool | None:
    """What `test` comes to on `hardware`; None where it asks something else."""
    match test:
        case E.Call(func=E.Attr(base=base, name=name)) if name.startswith("is_compiled_with_") or (
            name.startswith("is_") and "platform" in (E.dotted(base) or "")
        ):
            asked = config.hardware_of(name)
            return asked == hardware if asked else None
        case E.Unary(op="not", operand=operand):
            inner = holds_on(operand, hardware, config)
            return None if inner is None else not inner
        case E.Binary(op="and" | "or" as op, left=left, right=right):
            sides = holds_on(left, hardware, config), holds_on(right, hardware, config)
            settles = op == "or"
            return settles if settles in sides else None if None in sides else not settles
        case _:
            return None


def excluded(guards: tuple[E.Expr, ...], hardware: str, config: Config) -> bool:
    """Whether one of the conditions is false on `hardware`."""
    return any(holds_on(g, hardware, config) is False for g in guards)


def brought_by_change(guards: tuple[E.Expr, ...], change: ChangeSet) -> bool:
    """Whether a condition asks for something that this change brings: it is off for whoever was there before."""
    parts = (e for g in guards for e in E.walk(g))
    names = {
        e.name if isinstance(e, E.Attr) else e.id for e in parts if isinstance(e, E.Attr | E.Name)
    }
    return any("_" in n and not change.base.contains(n) for n in sorted(names))


def refused(guards: tuple[E.Expr, ...], platform: str, change: ChangeSet, config: Config) -> bool:
    """Whether the product raises on the hardware for which `is_<platform>()` holds, over a switch that is named as
    these conditions are: `if enable_logprob and not current_platform.is_cuda(): raise`."""
    wanted = {w for g in guards for w in topics(g)}
    hardware = config.hardware_of(f"is_{platform}")
    if not wanted or not hardware:
        return False
    raised = change.memo("sync.reached.raised", lambda: tuple(_raised(change, config)))
    return any(wanted & words and _sure(test, hardware, config) for words, test in raised)


def _raised(change: ChangeSet, config: Config) -> Iterator[tuple[frozenset[str], E.Expr]]:
    """(words of the switch, condition) of every refusal that depends on the hardware."""
    for path in product_files("NotImplementedError", change, config):
        unit = change.unit(path) if b"platform.is_" in (change.head.read(path) or b"") else None
        for function in unit.functions if unit is not None else ():
            text = unit.text(function.start_line, function.end_line) if unit is not None else ""
            for guarded in (
                guarded_statements(function.body) if "raise" in text and "platform" in text else ()
            ):
                test = (
                    guarded.guards[-1]
                    if guarded.guards and isinstance(guarded.stmt, Raise)
                    else None
                )
                if isinstance(test, E.Binary) and test.op == "and" and asks_platform((test,)):
                    yield frozenset(topics(test)), test


def _sure(test: E.Expr, hardware: str, config: Config) -> bool:
    """Whether `test` holds on `hardware` once its switches are on."""
    if isinstance(test, E.Binary) and test.op == "and":
        return _sure(test.left, hardware, config) and _sure(test.right, hardware, config)
    return holds_on(test, hardware, config) is not False


def topics(test: E.Expr) -> Iterator[str]:
    """The words of the names in a condition, in the singular; what every name may hold is left out."""
    for e in E.walk(test):
        name = e.name if isinstance(e, E.Attr) else e.id if isinstance(e, E.Name) else ""
        yield from (
            w.rstrip("s") for w in name.lower().split("_") if len(w) > 4 and w not in _COMMON
        )


@dataclass(frozen=True, slots=True)
class Readers:
    """Who reads a field or a parameter."""

    change: ChangeSet
    config: Config
    targets: Targets

    def field_unread(self, name: str, hardware: str) -> bool:
        """Whether the field `name` is read somewhere, and nowhere that `hardware` gets to."""
        read = [self._reaches(name, *place, hardware) for place in self._places(name)]
        return bool(read) and not any(read)

    def own_reads(self, name: str, hardware: str) -> bool:
        """Whether a file of this hardware reads the field `name`."""
        return any(
            self.config.hardware_of(unit.path) == hardware for _, _, unit in self._places(name)
        )

    def param_unread(self, target: Target, name: str, hardware: str) -> bool:
        """Whether a function uses its parameter for other hardware only.

        A branch of this hardware that calls the very op which gets the parameter elsewhere counts as one that needs
        it.
        """
        function, elsewhere = target.function, set[tuple[str, str]]()
        for guarded in guarded_statements(function.body):
            if not any(name in E.names(top) for top in expressions_of(guarded.stmt)):
                continue
            if not excluded(guarded.guards, hardware, self.config):
                return False
            elsewhere |= _ops_called(guarded, function, target.unit)
        here = (
            g
            for g in guarded_statements(function.body)
            if not excluded(g.guards, hardware, self.config)
        )
        return bool(elsewhere) and not any(
            elsewhere & _ops_called(g, function, target.unit) for g in here
        )

    def _places(self, name: str) -> Iterator[tuple[GuardedStmt, Function, SourceFile]]:
        """The statements that read an attribute `name`, tests left out."""
        for path in product_files(name, self.change, self.config):
            unit = self.change.unit(path)
            for function in unit.functions if unit is not None else ():
                if unit is not None and f".{name}" in unit.text(
                    function.start_line, function.end_line
                ):
                    found = (g for g in guarded_statements(function.body) if _reads(g, name))
                    yield from ((g, function, unit) for g in found)

    def _reaches(
        self, name: str, guarded: GuardedStmt, function: Function, unit: SourceFile, hardware: str
    ) -> bool:
        owner = self.config.hardware_of(unit.path)
        if (owner and owner != hardware) or excluded(guarded.guards, hardware, self.config):
            return False
        passed = 0
        for call in (
            e for top in expressions_of(guarded.stmt) for e in E.walk(top) if isinstance(e, E.Call)
        ):
            target = self.targets.of(call, function, unit)
            given = (
                arguments(call, tuple(p.name for p in target.params)) if target is not None else {}
            )
            for param, value in given.items():
                if target is not None and isinstance(value, E.Attr) and value.name == name:
                    passed += 1
                    if not self.param_unread(target, param, hardware):
                        return True
        return passed < sum(
            1 for top in expressions_of(guarded.stmt) for e in E.walk(top) if _is_read(e, name)
        )


def _reads(guarded: GuardedStmt, name: str) -> bool:
    stmt = guarded.stmt
    target = stmt.target if isinstance(stmt, Assign) else None
    return any(
        _is_read(e, name) and e is not target for top in expressions_of(stmt) for e in E.walk(top)
    )


def _is_read(e: E.Expr, name: str) -> bool:
    return isinstance(e, E.Attr) and e.name == name


def _ops_called(guarded: GuardedStmt, function: Function, unit: SourceFile) -> set[tuple[str, str]]:
    """(name, module) of the imported functions that a statement calls."""
    calls = (
        e for top in expressions_of(guarded.stmt) for e in E.walk(top) if isinstance(e, E.Call)
    )
    names = {(c.func.id, c.line or guarded.stmt.line) for c in calls if isinstance(c.func, E.Name)}
    return {(n, i.module) for n, line in names for i in nearest_imports(n, line, function, unit)}
