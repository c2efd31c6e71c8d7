"""Which tensors lie on the host, whatever they are called: told by where they are made."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from checks.core.change import ChangeSet
from checks.core.finding import Side
from checks.domain.calls.targets import CallTargets
from checks.domain.calls.value_types import Scope
from checks.domain.host_waits import COPIES_TO_HOST
from checks.lang.ir import expr as E
from checks.lang.ir.stmt import Assign, For, Return, guarded_statements

# From a use to the place where its tensor is made: functions, locals and attributes between them.
_MOST_STEPS = 12
_LIBRARIES = ("torch.", "paddle.")
_HOST_LIBRARIES = ("np.", "numpy.")
# These put what they are given on the device of the program.
_CREATORS = frozenset({"to_tensor", "tensor", "as_tensor"})
_MOVERS = frozenset({"to", "cuda", "copy_to"})
_PLACES = frozenset({"device", "place"})
_ARRAY = re.compile(r"\b(np|numpy)\.ndarray\b")


@dataclass
class HostTensors:
    """Follows values on one side of a change to where they are made."""

    change: ChangeSet
    side: Side
    targets: CallTargets
    _attributes: dict[str, bool] = field(default_factory=dict)
    _depth: int = 0

    @classmethod
    def of_change(cls, change: ChangeSet, side: Side = Side.HEAD) -> HostTensors:
        """The one table of this side of the change."""
        targets = CallTargets.of_change(change, side)
        return change.memo((cls, side), lambda: cls(change, side, targets))

    def holds(self, expr: E.Expr, scope: Scope) -> bool:
        """Whether `expr` is on the host on every way that leads to it; False where one is not
        known."""
        return self._result(expr, None, scope)

    def _result(self, expr: E.Expr, place: int | None, scope: Scope) -> bool:
        """Whether `expr`, or the value at `place` of what it gives, is on the host."""
        if self._depth >= _MOST_STEPS:
            return False
        self._depth += 1
        try:
            return self._find(expr, place, scope)
        finally:
            self._depth -= 1

    def _find(self, expr: E.Expr, place: int | None, scope: Scope) -> bool:
        match expr:
            case E.Call():
                return self._called(expr, place, scope)
            case E.Sequence(items=items) if place is not None:
                return place < len(items) and self._result(items[place], None, scope)
            case E.Name(id=name):
                return self._local(name, scope)
            case E.Attr(base=base, name=name):
                return self._attribute(name) or self._result(base, None, scope)
            case E.Index(base=base):
                return self._result(base, None, scope)
            case E.Binary(left=left, right=right):
                # Two tensors of different devices do not meet in one operation.
                return self._result(left, None, scope) or self._result(right, None, scope)
            case _:
                return False

    def _called(self, call: E.Call, place: int | None, scope: Scope) -> bool:
        name = E.callee(call)
        dotted = E.dotted(call.func) or ""
        if name in COPIES_TO_HOST or dotted.startswith(_HOST_LIBRARIES):
            return True
        chosen = _chosen_place(call)
        if chosen is not None:
            return _is_host_place(chosen)
        if any(option == "pin_memory" for option, _ in call.keywords):
            return True
        if name in _CREATORS or name in _MOVERS:
            return False
        if dotted.startswith(_LIBRARIES):
            return any(self._result(argument, None, scope) for argument in call.args)
        target = self.targets.of(call, scope.function, scope.unit, scope.guards)
        if target is not None:
            inside = Scope(target.function, target.unit)
            return self._all(_returned(inside), place)
        return isinstance(call.func, E.Attr) and self._result(call.func.base, None, scope)

    def _local(self, name: str, scope: Scope) -> bool:
        for param in scope.function.params:
            if param.name == name:
                return _ARRAY.search(param.type or "") is not None
        given = list(_given(name, scope))
        return bool(given) and all(
            value is not None and self._result(value, place, inside)
            for value, place, inside in given
        )

    def _attribute(self, name: str) -> bool:
        """Whether all that is ever given to an attribute of this name is on the host."""
        if name not in self._attributes:
            # An attribute that is made from itself is not known while it is looked for.
            self._attributes[name] = False
            self._attributes[name] = self._all(self._stored(name), None)
        return self._attributes[name]

    def _stored(self, name: str) -> Iterator[tuple[E.Expr, Scope]]:
        """What the functions of the tree give to attributes of this name."""
        stores = re.compile(rf"\.{re.escape(name)}\s*(:[^=]+)?=(?!=)")
        lines: dict[str, set[int]] = {}
        for hit in self.change.tree(self.side).find(name, "python"):
            if stores.search(hit.text):
                lines.setdefault(hit.path, set()).add(hit.line)
        for path, numbers in sorted(lines.items()):
            unit = self.change.unit(path, self.side)
            for function in unit.functions_on(numbers) if unit is not None else []:
                for guarded in guarded_statements(function.body):
                    match guarded.stmt:
                        case Assign(target=E.Attr(name=stored), value=value) if stored == name:
                            if unit is not None and value is not None:
                                yield value, Scope(function, unit, guarded.guards)

    def _all(self, found: Iterator[tuple[E.Expr, Scope]], place: int | None) -> bool:
        """Whether all values are on the host; those that say that there is none do not count."""
        is_any = False
        for value, scope in found:
            if _is_none(value, place):
                continue
            if not self._result(value, place, scope):
                return False
            is_any = True
        return is_any


def _chosen_place(call: E.Call) -> E.Expr | None:
    """The device that a call names: `device="cpu"`, `.to("cpu")`."""
    for option, value in call.keywords:
        if option in _PLACES:
            return value
    if E.callee(call) in _MOVERS and call.args:
        return call.args[0]
    return None


def _is_host_place(place: E.Expr) -> bool:
    match place:
        case E.Const(value="cpu"):
            return True
        case E.Call(args=(E.Const(value="cpu"),)):
            return E.callee(place) == "device"
        case E.Call():
            return E.callee(place) in ("CPUPlace", "CUDAPinnedPlace")
        case _:
            return False


def _returned(scope: Scope) -> Iterator[tuple[E.Expr, Scope]]:
    for guarded in guarded_statements(scope.function.body):
        if isinstance(guarded.stmt, Return) and guarded.stmt.value is not None:
            yield guarded.stmt.value, Scope(scope.function, scope.unit, guarded.guards)


def _given(name: str, scope: Scope) -> Iterator[tuple[E.Expr | None, int | None, Scope]]:
    """(value, place in it, where) of all that a function gives to a local; None for what a loop
    gives."""
    for guarded in guarded_statements(scope.function.body):
        inside = Scope(scope.function, scope.unit, guarded.guards)
        match guarded.stmt:
            case Assign(target=E.Name(id=target), value=value) if target == name:
                if value is not None and not _is_none(value, None):
                    yield value, None, inside
            case Assign(target=E.Sequence(items=items), value=value) if E.Name(name) in items:
                yield value, items.index(E.Name(name)), inside
            case For(target=target) if target is not None and name in E.names(target):
                yield None, None, inside


def _is_none(value: E.Expr, place: int | None) -> bool:
    if place is not None and isinstance(value, E.Sequence) and place < len(value.items):
        return value.items[place] == E.Const(None)
    return value == E.Const(None)
