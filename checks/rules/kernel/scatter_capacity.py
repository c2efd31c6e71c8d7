"""A kernel scatters rows at loaded offsets into a tensor that is sized elsewhere.

## What it does

In an op of the change that launches one block for each row of one tensor: a kernel writes
`p[offset[row] + i]` for `i` below a count that it loads, with no bound, and the Python caller in
the change makes `p` with rows that come from something else.

## Why it matters

The offsets are right only as long as the sum of the counts is at most the rows of the tensor. When
two sizes are computed in two places, a later change of one of them makes the kernel write behind
its tensor.

## Example

```cuda
for (int i = 0; i < num[row]; i++) ids[offset[row] + i] = 1;   // one block a slot
```
```python
ids = empty([batch * width])      # has as many rows as something else says
```

## Known limits

Only the first caller in the change is named. That the sizes are in truth equal is not seen, so this
is a question of low confidence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.code import names_in
from checks.core.config import Config
from checks.core.finding import Confidence, Definition, Finding, Location, Message, Severity
from checks.domain.ops import OpInfo, Ops, arguments, calls_of
from checks.domain.tensors import allocation_of, key_of
from checks.lang.ir import expr as E
from checks.lang.ir.render import source_of
from checks.lang.ir.source_file import Function
from checks.lang.ir.stmt import Assign, For, guarded_statements

ID = "kernel.scatter-capacity"
# How many locals the size of a grid is followed through.
_MOST_LOCALS = 4


@dataclass(frozen=True, slots=True)
class ScatterWrite:
    """An unbounded write of a kernel at `pointer[index]`."""

    stmt: Assign
    pointer: str
    index: E.Expr


@dataclass(frozen=True, slots=True)
class RowGrid:
    """A launch with one block for each row of `tensor`; `written` is its size as written."""

    written: str
    tensor: str


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for changed in changed_functions(change, config):
        if changed.python:
            continue
        for call, _ in calls_of(changed.head.body):
            if call.launch:
                yield from _scatters(call, changed, change, config)


def _scatters(
    launch: E.Call, changed: ChangedFunction, change: ChangeSet, config: Config
) -> Iterator[Finding]:
    """Findings for the kernel of one launch."""
    kernels = changed.unit.named(E.callee(launch))
    if not kernels or len(kernels[0].params) != len(launch.args):
        return
    kernel = kernels[0]
    params = [p.name for p in kernel.params]
    for write in _scatter_writes(kernel, changed):
        tensor = _tensor(launch.args[params.index(write.pointer)])
        grid = _row_grid(launch.launch[0], changed)
        if tensor and grid is not None:
            yield from _callers_with_own_rows(tensor, grid, write, changed, change, config)


def _scatter_writes(kernel: Function, changed: ChangedFunction) -> Iterator[ScatterWrite]:
    """The unbounded writes of the change: `p[offset[row] + i]`, in a loop to a loaded count."""
    # A pointer to const is only read.
    params = {p.name for p in kernel.params if _is_written_pointer(p.type)}
    for guarded in guarded_statements(kernel.body):
        match guarded.stmt:
            case Assign(
                target=E.Index(base=E.Name(id=pointer), indices=(E.Binary(op="+") as index,))
            ):
                stmt = guarded.stmt
            case _:
                continue
        if pointer not in params or not changed.touched(stmt.line) or not guarded.loops:
            continue
        loop = guarded.loops[-1]
        counter = loop.target.id if isinstance(loop.target, E.Name) else ""
        if counter not in E.names(index) or not _runs_to_loaded_count(loop):
            continue
        if not isinstance(index.left, E.Index) and not isinstance(index.right, E.Index):
            continue
        # A condition on the counter may be the bound that is looked for.
        if not any(counter in names_in(guard) for guard in guarded.guards):
            yield ScatterWrite(stmt, pointer, index)


def _is_written_pointer(declared_type: str) -> bool:
    return "*" in declared_type and "const" not in declared_type.split("*")[0]


def _runs_to_loaded_count(loop: For) -> bool:
    if loop.stop is None:
        return False
    return any(isinstance(e, E.Index) for e in E.walk(loop.stop))


def _tensor(expr: E.Expr) -> str:
    """The tensor behind `const_cast<T*>(t.data<T>())`."""
    match expr:
        case E.Cast(operand=operand):
            return _tensor(operand)
        case E.Call(func=E.Attr(base=E.Name(id=name), name="data" | "data_ptr")):
            return name
    return ""


def _row_grid(grid: E.Expr, changed: ChangedFunction) -> RowGrid | None:
    """The grid of a launch where it is `t.shape()[0]`, be it through locals."""
    local = _local_values(changed)
    written = ""
    for _ in range(_MOST_LOCALS):
        match grid:
            case E.Name(id=name) if name in local:
                written, grid = name, local[name]
            case E.Call(func=E.Name(id="dim3"), args=(only, *_)):
                grid = only
            case E.Index(
                base=E.Call(func=E.Attr(base=E.Name(id=tensor), name="shape")),
                indices=(E.Const(value=0),),
            ):
                return RowGrid(written, tensor)
            case _:
                return None
    return None


def _local_values(changed: ChangedFunction) -> dict[str, E.Expr]:
    values: dict[str, E.Expr] = {}
    for guarded in changed.statements:
        stmt = guarded.stmt
        if isinstance(stmt, Assign) and isinstance(stmt.target, E.Name) and stmt.value is not None:
            values[stmt.target.id] = stmt.value
    return values


def _callers_with_own_rows(
    tensor: str,
    grid: RowGrid,
    write: ScatterWrite,
    changed: ChangedFunction,
    change: ChangeSet,
    config: Config,
) -> Iterator[Finding]:
    """One finding for the first caller in the change that makes the tensor with rows of its own."""
    ops = {op.name: op for op in Ops.of(change).of_function(changed.head)}
    if not ops:
        return
    for caller in changed_functions(change, config):
        if not caller.python:
            continue
        for call, _ in calls_of(caller.head.body):
            op = ops.get(E.callee(call))
            if op is None:
                continue
            allocation = _own_allocation(call, op, tensor, grid.tensor, caller)
            if allocation is not None:
                stmt, rows = allocation
                place = Location(caller.unit.path, stmt.line, stmt.end_line)
                text = caller.unit.excerpt(stmt.line)
                evidence = Definition(tensor, place, source_of(rows), text)
                yield _finding(write, tensor, grid, evidence, changed)
                return


def _own_allocation(
    call: E.Call, op: OpInfo, tensor: str, grid_tensor: str, caller: ChangedFunction
) -> tuple[Assign, E.Expr] | None:
    """Where the caller makes `tensor`, if its rows do not come from the tensor of the grid."""
    if op.function is None:
        return None
    passed = arguments(call, tuple(p.name for p in op.function.params))
    destination, measure = passed.get(tensor), passed.get(grid_tensor)
    if not isinstance(destination, E.Name) or measure is None:
        return None
    local = _assignments_before(call.line, caller)
    stmt = local.get(destination.id)
    shape = allocation_of(stmt.value) if stmt is not None else None
    if stmt is None or shape is None:
        return None
    rows = shape[0]
    sources = set(names_in(rows))
    for name in list(sources):
        if name in local:
            sources |= names_in(local[name].value)
    key = key_of(measure) or E.root(measure) or ""
    return (stmt, rows) if key not in sources else None


def _assignments_before(line: int, caller: ChangedFunction) -> dict[str, Assign]:
    """The last assignment of each local above `line`."""
    found: dict[str, Assign] = {}
    for guarded in caller.statements:
        stmt = guarded.stmt
        if isinstance(stmt, Assign) and isinstance(stmt.target, E.Name) and stmt.line < line:
            found[stmt.target.id] = stmt
    return found


def _finding(
    write: ScatterWrite,
    tensor: str,
    grid: RowGrid,
    allocation: Definition,
    changed: ChangedFunction,
) -> Finding:
    index = source_of(write.index)
    args = {
        "name": tensor,
        "index": index,
        "slots": grid.written,
        "rows": allocation.value,
        "at": allocation.location,
    }
    return Finding(
        rule=ID,
        severity=Severity.QUESTION,
        confidence=Confidence.LOW,
        location=Location(changed.unit.path, write.stmt.line, write.stmt.end_line),
        message=Message("scatter", args),
        symbol=changed.head.qualname,
        subject=f"{tensor} {index}",
        evidence=(allocation,),
    )
