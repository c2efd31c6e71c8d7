"""With how many threads a kernel is launched, and whether all of them meet a bound."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.code import equal_code, local_assignments
from checks.domain.bitfields.packing import single_assignments
from checks.eval.constants.lookup import Constants, ConstantValue
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import GuardedStmt, guarded_statements, negate
from checks.rules.kernel._code_walks import calls_in_file

_THREAD = E.Attr(E.Name("threadIdx"), "x")
_BLOCK = E.Attr(E.Name("blockDim"), "x")


@dataclass(frozen=True, slots=True)
class Launch:
    """`kernel<<<grid, block, ...>>>(...)` in the function `host`."""

    call: E.Call
    host: Function
    unit: SourceFile

    def threads(self) -> E.Expr | None:
        """How many threads a block has in x; None where it has others in y or z."""
        if len(self.call.launch) < 2:
            return None
        block = self.host_value(self.call.launch[1])
        match block:
            case E.Call(func=E.Name(id="dim3"), args=(first, *others)):
                is_flat = all(equal_code(other, E.Const(1)) for other in others)
                return self.host_value(first) if is_flat else None
            case _:
                return block

    def host_value(self, expr: E.Expr) -> E.Expr:
        """`expr` without casts, and with what the locals in it were set to, where they are just one
        other name."""
        local = single_assignments(list(guarded_statements(self.host.body)))
        seen: set[str] = set()
        while True:
            match expr:
                case E.Cast(operand=operand):
                    expr = operand
                case E.Name(id=name) if name in local and name not in seen:
                    seen.add(name)
                    expr = local[name]
                case _:
                    return expr


def launches_of(kernel: Function, change: ChangeSet) -> Iterator[Launch]:
    """Every launch of a kernel in the tree."""
    for path in change.head.paths_containing(kernel.name, "cpp"):
        unit = change.unit(path)
        if unit is None:
            continue
        for host, call, _ in calls_in_file(kernel.name, unit):
            if call.launch:
                yield Launch(call, host, unit)


def every_thread_meets(
    condition: E.Expr, kernel: Function, statements: list[GuardedStmt], change: ChangeSet
) -> bool:
    """Whether `threadIdx.x < bound` holds for all threads of every launch: none has more threads
    than the bound that it hands over."""
    bound = _bound_of_thread(condition, statements)
    if bound is None:
        return False
    if equal_code(bound, _BLOCK):
        return True
    launches = list(launches_of(kernel, change))
    return bool(launches) and all(_fits(launch, bound, kernel, change) for launch in launches)


def _bound_of_thread(condition: E.Expr, statements: list[GuardedStmt]) -> E.Expr | None:
    """`n` of `threadIdx.x < n`, also through a local."""
    match condition:
        case E.Unary(op="not", operand=E.Binary() as operand) if negate(operand) != condition:
            return _bound_of_thread(negate(operand), statements)
        case E.Binary(op="<", left=left, right=bound) | E.Binary(op=">", left=bound, right=left):
            pass
        case _:
            return None
    if isinstance(left, E.Name):
        values = [value for name, value in local_assignments(statements) if name == left.id]
        if len(values) != 1:
            return None
        left = values[0]
    return bound if equal_code(left, _THREAD) else None


def _fits(launch: Launch, bound: E.Expr, kernel: Function, change: ChangeSet) -> bool:
    """Whether a launch has no more threads than the bound, as it is called."""
    threads = launch.threads()
    if threads is None:
        return False
    count = Constants.of(change).resolve(threads, launch.unit, launch.host)
    names = [param.name for param in kernel.params]
    if not isinstance(bound, E.Name) or bound.id not in names:
        unit = change.unit(kernel.path)
        most = Constants.of(change).resolve(bound, unit, kernel) if unit is not None else None
        return _is_at_most(count, most)
    place = names.index(bound.id)
    if place >= len(launch.call.args):
        return False
    given = launch.host_value(launch.call.args[place])
    if equal_code(threads, given):
        return True
    return _is_at_most(count, Constants.of(change).resolve(given, launch.unit, launch.host))


def _is_at_most(count: ConstantValue | None, most: ConstantValue | None) -> bool:
    if count is None or most is None:
        return False
    if not isinstance(count.value, int) or not isinstance(most.value, int):
        return False
    return count.value <= most.value
