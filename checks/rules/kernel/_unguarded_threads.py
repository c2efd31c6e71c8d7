"""Threads and program instances beyond the last element: writes that no condition or mask keeps in bounds."""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.changed import ChangedFunction, local_assignments, names_in
from checks.core.finding import Confidence, Finding, Location, Message, Severity
from checks.domain.bitfields.ranges import source_of
from checks.domain.ops import calls_of, expressions_of
from checks.lang.ir import expr as E
from checks.lang.ir.stmt import Assign, For


def stores(delta: ChangedFunction, rule: str) -> Iterator[Finding]:
    """Findings of `rule` for a CUDA or Triton kernel that the change wrote or touched."""
    if "__global__" in delta.head.marks:
        yield from _threads(delta, rule)
    elif any("triton" in m for m in delta.head.marks):
        yield from _masks(delta, rule)


def _threads(delta: ChangedFunction, rule: str) -> Iterator[Finding]:
    """`i = blockIdx.x * blockDim.x + threadIdx.x; out[i] = ...` with nothing that compares `i`."""
    index = next((n for n, v in local_assignments(delta.statements) if _global_index(v)), None)
    if index is None or not _rounded_up(delta):
        return
    compared = any(index in names_in(t) for g in delta.statements for t in g.guards) or any(
        isinstance(g.stmt, For)
        and index in {n for t in expressions_of(g.stmt) for n in names_in(t)}
        for g in delta.statements
    )
    for guarded in delta.statements if not compared else ():
        stmt = guarded.stmt
        match stmt:
            case Assign(target=E.Index(base=E.Name(id=out), indices=(E.Name(id=at),))) if (
                at == index
            ):
                if out in {p.name for p in delta.head.params} and delta.touched(stmt.line):
                    yield _finding("thread", {"out": out, "index": index}, stmt.line, delta, rule)
                    return


def _global_index(value: E.Expr) -> bool:
    parts = {E.dotted(e) for e in E.walk(value) if isinstance(e, E.Attr)}
    return {"blockIdx.x", "blockDim.x", "threadIdx.x"} <= parts and isinstance(value, E.Binary)


def _rounded_up(delta: ChangedFunction) -> bool:
    """Whether a launch in the file divides up: `(n + block - 1) / block`, `ceil_div`, `cdiv`."""
    for function in delta.unit.functions:
        if delta.head.name not in delta.unit.text(function.start_line, function.end_line):
            continue
        for call, _ in calls_of(function.body):
            if E.callee(call) == delta.head.name and call.launch:
                text = delta.unit.text(function.start_line, function.end_line)
                return any(
                    word in text.lower()
                    for word in ("- 1) /", "-1)/", "- 1)/", "ceildiv", "ceil_div", "cdiv")
                )
    return False


def _masks(delta: ChangedFunction, rule: str) -> Iterator[Finding]:
    """A load or store without a mask at the very offsets for which another access has one."""
    masked: dict[str, str] = {}
    bare: list[tuple[str, E.Call]] = []
    for call, _ in calls_of(delta.head.body):
        name = E.dotted(call.func) or ""
        if name not in ("tl.load", "tl.store") or not call.args:
            continue
        offsets = _vector(call.args[0], delta)
        mask = next((v for k, v in call.keywords if k == "mask"), None)
        place = 1 if name == "tl.load" else 2
        mask = call.args[place] if mask is None and len(call.args) > place else mask
        for offset in offsets:
            if mask is not None and offset in _behind(mask, delta):
                masked.setdefault(offset, source_of(mask))
            elif mask is None:
                bare.append((offset, call))
    for offset, call in bare:
        if offset in masked and delta.touched(call.line):
            args: dict[str, object] = {
                "access": E.dotted(call.func),
                "offset": offset,
                "mask": masked[offset],
            }
            yield _finding("mask", args, call.line, delta, rule)


def _vector(pointer: E.Expr, delta: ChangedFunction) -> set[str]:
    """The names in a pointer that stand for a range (`offs = pid * BLOCK + tl.arange(0, BLOCK)`)."""
    ranges = {
        n
        for n, v in local_assignments(delta.statements)
        if any(isinstance(e, E.Call) and E.callee(e) == "arange" for e in E.walk(v))
    }
    return E.names(pointer) & ranges


def _behind(mask: E.Expr, delta: ChangedFunction) -> set[str]:
    """Names in a mask, followed through one local."""
    local = dict(local_assignments(delta.statements))
    found = set(E.names(mask))
    for name in list(found):
        if name in local:
            found |= E.names(local[name])
    return found


def _finding(
    key: str, args: dict[str, object], line: int, delta: ChangedFunction, rule: str
) -> Finding:
    keys = {"thread": "thread", "mask": "mask"}
    return Finding(
        rule=rule,
        severity=Severity.QUESTION,
        confidence=Confidence.MEDIUM,
        location=Location(delta.unit.path, line),
        message=Message(keys[key], args),
        symbol=delta.head.qualname,
        subject=delta.unit.text(line),
    )
