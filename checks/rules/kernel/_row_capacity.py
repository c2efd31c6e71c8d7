"""A kernel scatters rows at offsets that come with the data, into a tensor that somebody else gave another size."""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions, names_in
from checks.core.config import Config
from checks.core.finding import Confidence, Definition, Finding, Location, Message, Severity
from checks.domain.bitfields.ranges import source_of
from checks.domain.ops import OpInfo, Ops, arguments, calls_of
from checks.domain.tensors import key_of, made
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function
from checks.lang.ir.stmt import Assign, guarded_statements


def scattered(
    delta: ChangedFunction, change: ChangeSet, config: Config, rule: str
) -> Iterator[Finding]:
    """Findings of `rule` for the kernels that an op of the change launches.

    A kernel writes `p[offset[row] + i]` for `i` below a count that it loads, on a grid as long as one tensor, and the
    Python caller makes `p` with rows that come from something else.
    """
    for call, _ in calls_of(delta.head.body) if "<<<" in delta.code else ():
        kernel = next(iter(delta.unit.named(E.callee(call))), None) if call.launch else None
        if kernel is None or len(kernel.params) != len(call.args):
            continue
        for write, pointer, index in _writes(kernel, delta):
            tensor = _tensor(call.args[[p.name for p in kernel.params].index(pointer)])
            grid = _grid(call.launch[0], delta)
            if tensor and grid is not None:
                yield from _callers(tensor, grid, write, index, delta, change, config, rule)


def _writes(kernel: Function, delta: ChangedFunction) -> Iterator[tuple[Assign, str, E.Expr]]:
    """(statement, pointer, index) of the unbounded writes on lines of the change."""
    params = {
        p.name for p in kernel.params if "*" in p.type and "const" not in p.type.split("*")[0]
    }
    for guarded in guarded_statements(kernel.body):
        match guarded.stmt:
            case (
                Assign(
                    target=E.Index(base=E.Name(id=pointer), indices=(E.Binary(op="+") as index,))
                ) as stmt
            ):
                pass
            case _:
                continue
        if pointer not in params or not delta.touched(stmt.line) or not guarded.loops:
            continue
        loop = guarded.loops[-1]
        counter = loop.target.id if isinstance(loop.target, E.Name) else ""
        counted = loop.stop is not None and any(isinstance(e, E.Index) for e in E.walk(loop.stop))
        offset = any(isinstance(side, E.Index) for side in (index.left, index.right))
        bound = any(counter in names_in(g) for g in guarded.guards)
        if counter in E.names(index) and counted and offset and not bound:
            yield stmt, pointer, index


def _tensor(expr: E.Expr) -> str:
    """The tensor behind `const_cast<T*>(t.data<T>())`."""
    match expr:
        case E.Cast(operand=operand):
            return _tensor(operand)
        case E.Call(func=E.Attr(base=E.Name(id=name), name="data" | "data_ptr")):
            return name
    return ""


def _grid(grid: E.Expr, delta: ChangedFunction) -> tuple[str, str] | None:
    """(size as written, tensor whose first dimension it is) of a launch on one block a row."""
    local = {
        g.stmt.target.id: g.stmt.value
        for g in delta.statements
        if isinstance(g.stmt, Assign)
        and isinstance(g.stmt.target, E.Name)
        and g.stmt.value is not None
    }
    said = ""
    for _ in range(4):
        match grid:
            case E.Name(id=name) if name in local:
                said, grid = name, local[name]
            case E.Call(func=E.Name(id="dim3"), args=(only, *_)):
                grid = only
            case E.Index(
                base=E.Call(func=E.Attr(base=E.Name(id=tensor), name="shape")),
                indices=(E.Const(value=0),),
            ):
                return said, tensor
            case _:
                return None
    return None


def _callers(
    tensor: str,
    grid: tuple[str, str],
    write: Assign,
    index: E.Expr,
    delta: ChangedFunction,
    change: ChangeSet,
    config: Config,
    rule: str,
) -> Iterator[Finding]:
    """One finding for the first caller in the change that makes the tensor with rows of its own."""
    ops = Ops.of(change).of_function(delta.head)
    names = {op.name: op for op in ops}
    for caller in changed_functions(change, config):
        if not caller.python or not any(
            name in caller.text and name in caller.code for name in names
        ):
            continue
        for call, _ in calls_of(caller.head.body):
            op = names.get(E.callee(call))
            found = _made_for(call, op, tensor, grid[1], caller) if op is not None else None
            if found is not None:
                stmt, rows = found
                at = Location(caller.unit.path, stmt.line, stmt.end_line)
                args = {
                    "name": tensor,
                    "index": source_of(index),
                    "slots": grid[0],
                    "rows": source_of(rows),
                    "at": at,
                }
                yield Finding(
                    rule=rule,
                    severity=Severity.QUESTION,
                    confidence=Confidence.LOW,
                    location=Location(delta.unit.path, write.line, write.end_line),
                    message=Message("scatter", args),
                    symbol=delta.head.qualname,
                    subject=f"{tensor} {source_of(index)}",
                    evidence=(
                        Definition(
                            tensor, at, source_of(rows), caller.unit.text(stmt.line).strip()
                        ),
                    ),
                )
                return


def _made_for(
    call: E.Call, op: OpInfo, tensor: str, grid: str, caller: ChangedFunction
) -> tuple[Assign, E.Expr] | None:
    """Where the caller makes what it passes for `tensor`, if its rows do not come from what it passes for `grid`."""
    function = op.function
    if function is None:
        return None
    given = arguments(call, tuple(p.name for p in function.params))
    passed, measure = given.get(tensor), given.get(grid)
    if not isinstance(passed, E.Name) or measure is None:
        return None
    local = {
        g.stmt.target.id: g.stmt
        for g in caller.statements
        if isinstance(g.stmt, Assign)
        and isinstance(g.stmt.target, E.Name)
        and g.stmt.line < call.line
    }
    stmt = local.get(passed.id)
    shape = made(stmt.value) if stmt is not None else None
    if stmt is None or shape is None:
        return None
    behind = set(names_in(shape[0]))
    for name in list(behind):
        if name in local:
            behind |= names_in(local[name].value)
    key = key_of(measure) or E.root(measure) or ""
    return (stmt, shape[0]) if key not in behind else None
