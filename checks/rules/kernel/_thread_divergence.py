"""What in a kernel differs from thread to thread, and what its threads share."""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function
from checks.lang.ir.stmt import Assign, GuardedStmt

_OPAQUE = re.compile(r"TempStorage|barrier|pipeline|Pipeline|mbarrier|Storage")


def is_device(function: Function) -> bool:
    return bool({"__global__", "__device__"} & set(function.marks))


def per_thread(flat: list[GuardedStmt]) -> set[str]:
    """Locals whose value comes, directly or through other locals, from `threadIdx`; what a block shares does not count,
    whichever thread wrote it."""
    found: set[str] = set()
    common = shared(flat)
    for guarded in flat:
        stmt = guarded.stmt
        if (
            not isinstance(stmt, Assign)
            or not isinstance(stmt.target, E.Name)
            or stmt.value is None
        ):
            continue
        if stmt.target.id not in common and depends(stmt.value, found):
            found.add(stmt.target.id)
    return found


def depends(expr: E.Expr, locals_: set[str]) -> bool:
    """Whether `expr` differs between the threads of a block; votes of a whole block do not."""
    for e in E.walk(expr):
        match e:
            case E.Call() if E.callee(e) in (
                "__syncthreads_or",
                "__syncthreads_and",
                "__syncthreads_count",
            ):
                return False
            case E.Name(id="threadIdx"):
                return True
            case E.Name(id=name) if name in locals_:
                return True
            case E.Call() if E.callee(e) in ("core_id", "thread_rank", "lane_id"):
                return True
    return False


def shared(flat: list[GuardedStmt]) -> dict[str, Assign]:
    """Declarations of `__shared__` variables that plain code reads and writes; not the room of cub and its like."""
    found: dict[str, Assign] = {}
    for guarded in flat:
        stmt = guarded.stmt
        if (
            not isinstance(stmt, Assign)
            or not isinstance(stmt.target, E.Name)
            or stmt.value is not None
        ):
            continue
        kind = stmt.declares or ""
        if (
            "__shared__" in kind
            and "extern" not in kind
            and not kind.endswith("[]")
            and not _OPAQUE.search(kind)
        ):
            found.setdefault(stmt.target.id, stmt)
    return found


def barrier(expr: E.Expr) -> bool:
    """Whether `expr` is a call that all threads of a block meet in."""
    if not isinstance(expr, E.Call):
        return False
    name = E.callee(expr)
    return name.startswith("__syncthreads") or name in (
        "sync",
        "sync_cluster",
        "sync_all",
        "sync_group",
        "bar_sync",
    )


def reads(expr: E.Expr, name: str) -> Iterator[E.Expr]:
    """Where `expr` reads the variable `name`: itself, or an element; its address is not a read."""
    match expr:
        case E.Unary(op="&", operand=operand) if E.root(operand) == name:
            return
        case E.Index(base=E.Name(id=base), indices=indices) if base == name:
            yield expr
            for index in indices:
                yield from reads(index, name)
        case E.Name(id=base) if base == name:
            yield expr
        case _:
            for child in E.children(expr):
                yield from reads(child, name)
