"""What in a kernel differs from thread to thread, and what its threads share."""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function
from checks.lang.ir.stmt import Assign, GuardedStmt

# Storage that belongs to cub and its like: the library's own code reads and writes it.
_LIBRARY_STORAGE = re.compile(r"TempStorage|barrier|pipeline|Pipeline|mbarrier|Storage")
# All threads of a block get the same answer from these.
_BLOCK_VOTES = frozenset({"__syncthreads_or", "__syncthreads_and", "__syncthreads_count"})
_THREAD_NUMBERS = frozenset({"core_id", "thread_rank", "lane_id"})


def is_device(function: Function) -> bool:
    """Whether a function runs on the device."""
    return "__global__" in function.marks or "__device__" in function.marks


def is_triton(function: Function) -> bool:
    return any("triton" in mark for mark in function.marks)


def thread_locals(statements: list[GuardedStmt]) -> set[str]:
    """Locals whose value comes, directly or through other locals, from `threadIdx`.

    What a block shares does not count, whichever thread wrote it.
    """
    found: set[str] = set()
    common = shared_variables(statements)
    for guarded in statements:
        stmt = guarded.stmt
        if not isinstance(stmt, Assign) or stmt.value is None:
            continue
        if not isinstance(stmt.target, E.Name) or stmt.target.id in common:
            continue
        if differs_between_threads(stmt.value, found):
            found.add(stmt.target.id)
    return found


def differs_between_threads(expr: E.Expr, per_thread: set[str]) -> bool:
    """Whether `expr` differs between the threads of a block, where the locals `per_thread` do."""
    for e in E.walk(expr):
        match e:
            case E.Call() if E.callee(e) in _BLOCK_VOTES:
                return False
            case E.Name(id="threadIdx"):
                return True
            case E.Name(id=name) if name in per_thread:
                return True
            case E.Call() if E.callee(e) in _THREAD_NUMBERS:
                return True
    return False


def shared_variables(statements: list[GuardedStmt]) -> dict[str, Assign]:
    """The declarations of `__shared__` variables that plain code reads and writes."""
    found: dict[str, Assign] = {}
    for guarded in statements:
        stmt = guarded.stmt
        if not isinstance(stmt, Assign) or stmt.value is not None:
            continue
        if isinstance(stmt.target, E.Name) and _is_plain_shared(stmt.declares or ""):
            found.setdefault(stmt.target.id, stmt)
    return found


def _is_plain_shared(declared_type: str) -> bool:
    if "__shared__" not in declared_type:
        return False
    # An array without a size is as long as the launch says, and is filled as other code decides.
    if "extern" in declared_type or declared_type.endswith("[]"):
        return False
    return _LIBRARY_STORAGE.search(declared_type) is None


def reads_of(name: str, expr: E.Expr) -> Iterator[E.Expr]:
    """Where `expr` reads the variable `name`: itself, or an element; its address is not a read."""
    match expr:
        case E.Unary(op="&", operand=operand) if E.root(operand) == name:
            return
        case E.Index(base=E.Name(id=base), indices=indices) if base == name:
            yield expr
            for index in indices:
                yield from reads_of(name, index)
        case E.Name(id=base) if base == name:
            yield expr
        case _:
            for child in E.children(expr):
                yield from reads_of(name, child)
