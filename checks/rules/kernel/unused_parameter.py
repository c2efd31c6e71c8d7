"""A parameter lost its last use, never had one, or a value is overridden before anybody reads it.

## What it does

Compares every changed function before and after: a parameter that the body used and uses no more while callers go on
passing it, a parameter that the change added and nothing reads, an attribute that a new op takes and ignores although
the op of the same name on other hardware honours it. In constructors, an attribute that the change sets and a later
line of the same constructor sets again.

## Why it matters

PaddlePaddle/FastDeploy#7192 replaced a test of `save_each_rank` by `rank_id > 0`; every caller still computes and
passes it. #4748 took `accept_all_drafts` on XPU and ignored it. #5279 turned log probabilities on in a constructor of
which a later line turns them off again.

## Example

```cpp
void Save(const Tensor& ids, int rank_id, bool each_rank) {
  if (rank_id > 0) return;      // was: !each_rank && rank_id > 0
```

## Known limits

A use is a whole word outside comments and strings. Parameters of methods that other classes define under the same
name, and unused parameters of new functions, are for the pedantic persona: an interface may ask for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import (
    ChangedFunction,
    body_code,
    changed_functions,
    code_without_comments,
    has_word,
)
from checks.core.config import Config
from checks.core.finding import (
    Confidence,
    Evidence,
    Finding,
    Location,
    Message,
    Related,
    Severity,
    Sibling,
)
from checks.domain.ops import Ops, arguments, calls_of, statement_expressions
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, Param, SourceFile
from checks.lang.ir.stmt import If, Jump, Raise
from checks.lang.source import language
from checks.rules.kernel._overridden_attributes import overridden

ID = "kernel.unused-parameter"

_INFERENCE = re.compile(r"Infer(Shape|D?[tT]ype|Meta)|(Shape|D[tT]ype)$")
_SKIPPED = frozenset({"self", "cls", "args", "kwargs"})


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for delta in changed_functions(change, config):
        yield from _parameters(delta, change, config)
        if delta.python and delta.head.name == "__init__":
            yield from overridden(delta, ID)


def _parameters(delta: ChangedFunction, change: ChangeSet, config: Config) -> Iterator[Finding]:
    head = delta.head
    if not head.clean or _INFERENCE.search(head.name) or _overloaded(delta) or _stub(head):
        return
    params = [p for p in head.params if p.name and _counts(p)]
    if delta.python and {p.name for p in params} <= _names(head):
        return  # most are used in plain sight: no need to read the text
    body = body_code(head, delta.code)
    if re.search(r"\blocals\s*\(", body):
        return
    groups: dict[str, list[Param]] = {}
    for param in params:
        if not has_word(body, param.name):
            groups.setdefault(_kind(param, delta), []).append(param)
    if groups.get("lost"):
        given = _given(groups["lost"][0], delta, change, config)
        quiet = (
            not given or _interface(delta, change) or not _matters(groups["lost"], delta, change)
        )
        yield _finding("lost", groups["lost"], delta, given, quiet)
    if groups.get("added") and not _constructed(groups["added"], delta, change):
        honoured = _honoured(groups["added"][0], delta, change)
        yield _finding(
            "ignored" if honoured else "new",
            groups["added"],
            delta,
            honoured,
            _interface(delta, change),
        )
    if groups.get("new"):
        yield from _fresh(groups["new"], delta, change)


def _names(function: Function) -> frozenset[str]:
    """The names that stand in the statements of `function` itself."""

    def found() -> frozenset[str]:
        return frozenset(
            [
                e.id
                for _, inside in statement_expressions(function.body)
                for e in inside
                if e.__class__ is E.Name
            ]
        )

    return function.body.memo(_names, found)


def _overloaded(delta: ChangedFunction) -> bool:
    """Several functions of this name in one file: which of them became which is not certain."""
    units = (delta.unit, delta.base_unit)
    return any(
        len([f for f in u.functions if f.qualname == delta.head.qualname]) > 1
        for u in units
        if u is not None
    )


def _counts(param: Param) -> bool:
    named = param.kind in ("positional", "keyword") and param.name not in _SKIPPED
    return named and not param.name.startswith("_") and "maybe_unused" not in param.type


def _stub(function: Function) -> bool:
    """A declaration in the shape of a definition: nothing inside but `pass`, `...`, or an error."""
    kept = [s for s in function.body if not isinstance(getattr(s, "value", None), E.Const)]
    return all(isinstance(s, Raise | Jump) for s in kept) or any(
        "abstract" in m for m in function.marks
    )


def _kind(param: Param, delta: ChangedFunction) -> str:
    """`lost` its use, `added` to a function that was there, `new` with its function, or `old` (unused before too)."""
    if delta.base is None:
        return "new"
    if param.name not in {p.name for p in delta.base.params}:
        return "added"
    return "lost" if has_word(body_code(delta.base, delta.base_code), param.name) else "old"


def _matters(params: list[Param], delta: ChangedFunction, change: ChangeSet) -> bool:
    """What callers outside the file pass, or a switch; a helper that mirrors a kernel's parameters worries nobody."""
    if delta.python or Ops.of(change).of_function(delta.head):
        return True
    scalars = {p.name for p in params if "*" not in p.type and "&" not in p.type}
    tests = [g.stmt.test for g in delta.base_statements if isinstance(g.stmt, If)]
    return any(_switch(test) & scalars for test in tests)


def _switch(test: E.Expr) -> set[str]:
    """Names that a condition asks for their truth, not for how they compare."""
    match test:
        case E.Name(id=name):
            return {name}
        case E.Unary(op="not", operand=operand):
            return _switch(operand)
        case E.Binary(op="and" | "or", left=left, right=right):
            return _switch(left) | _switch(right)
    return set()


def _fresh(params: list[Param], delta: ChangedFunction, change: ChangeSet) -> Iterator[Finding]:
    """Unused parameters of a new function: worth a word where the op's copy on other hardware honours them."""
    for param in params:
        honoured = _honoured(param, delta, change)
        if honoured:
            yield _finding("ignored", [param], delta, honoured, False)
    if "__global__" in delta.head.marks or any("triton" in m for m in delta.head.marks):
        yield _finding("new", params, delta, (), True)


def _finding(
    key: str,
    params: list[Param],
    delta: ChangedFunction,
    seen: tuple[Related | Sibling, ...],
    pedantic: bool,
) -> Finding:
    at = seen[0].location if seen else None
    keys = {"lost": "lost", "new": "new", "ignored": "ignored"}
    evidence: tuple[Evidence, ...] = tuple(s for s in seen if isinstance(s, Sibling))
    names = [p.name for p in params]
    return Finding(
        rule=ID,
        severity=Severity.SUGGESTION,
        confidence=Confidence.MEDIUM if key == "new" else Confidence.HIGH,
        location=Location(delta.unit.path, params[0].line or delta.head.start_line),
        message=Message(keys[key], {"names": names, "function": delta.head.name, "at": at}),
        symbol=delta.head.qualname,
        subject=" ".join(names),
        evidence=evidence,
        related=tuple(s for s in seen if isinstance(s, Related)),
        pedantic=pedantic,
    )


def _interface(delta: ChangedFunction, change: ChangeSet) -> bool:
    """Whether others define a method of this name, so that the parameter may be there for their sake."""
    head = delta.head
    if not delta.python:
        return any(m in ("virtual", "override") for m in head.marks)
    if not head.owner or head.name == "__init__":
        return False
    start = f"def {head.name}("
    return len([h for h in change.head.find(head.name) if h.text.lstrip().startswith(start)]) > 1


def _constructed(params: list[Param], delta: ChangedFunction, change: ChangeSet) -> bool:
    """Whether a class of the same base takes these in its constructor too: one call makes any of them."""
    mine = [c for c in delta.unit.classes if c.name == delta.head.owner]
    if delta.head.name != "__init__" or not mine or not mine[0].bases:
        return False
    wanted, bases = {p.name for p in params}, set(mine[0].bases)
    for path in change.head.paths_containing(params[0].name):
        unit = change.unit(path) if language(path) == "python" and path != delta.unit.path else None
        for function in unit.named("__init__") if unit is not None else ():
            owner = (
                next((c for c in unit.classes if c.name == function.owner), None)
                if unit is not None
                else None
            )
            if (
                owner is not None
                and bases & {*owner.bases}
                and wanted <= {p.name for p in function.params}
            ):
                return True
    return False


def _given(
    param: Param, delta: ChangedFunction, change: ChangeSet, config: Config
) -> tuple[Related, ...]:
    """The first place outside tests that still passes the parameter."""
    head = delta.head
    if not delta.python:
        ops = Ops.of(change)
        for op in ops.of_function(head):
            place = [p.name for p in head.params].index(param.name)
            for use in ops.calls(op.name) if place < len(op.params) else ():
                if not config.is_test(use.unit.path) and op.params[place] in use.args:
                    return (Related(Location(use.unit.path, use.call.line), Message("passed", {})),)
        return _launched(delta, param)
    name = head.owner if head.name == "__init__" else head.name
    params = tuple(p.name for p in head.params if p.name not in ("self", "cls"))
    for path in change.head.paths_containing(name, "python"):
        unit = change.unit(path) if not config.is_test(path) else None
        for function in unit.functions if unit is not None else ():
            if unit is None or name not in unit.text(function.start_line, function.end_line):
                continue
            for call, _ in calls_of(function.body):
                if E.callee(call) == name and param.name in arguments(call, params):
                    return (Related(Location(path, call.line), Message("passed", {})),)
    return ()


def _launched(delta: ChangedFunction, param: Param) -> tuple[Related, ...]:
    """The first call of a C++ function in its own file that has an argument in the place of `param`."""
    head = delta.head
    place = [p.name for p in head.params].index(param.name)
    for function in delta.unit.functions:
        if not has_word(delta.unit.text(function.start_line, function.end_line), head.name):
            continue
        for call, _ in calls_of(function.body):
            if E.callee(call) == head.name and len(call.args) > place:
                line = call.args[place].line or call.line
                return (Related(Location(delta.unit.path, line), Message("passed", {})),)
    return ()


def _honoured(param: Param, delta: ChangedFunction, change: ChangeSet) -> tuple[Sibling, ...]:
    """The same op on other hardware, where it reads what this one ignores."""
    if delta.python or not any(
        op.kernel.rsplit("::", 1)[-1] == delta.head.name for op in delta.unit.ops
    ):
        return ()
    ops = Ops.of(change)
    for own in ops.of_function(delta.head):
        place = [p.name for p in delta.head.params].index(param.name)
        if place >= len(own.params):
            continue
        # A function may have its attributes before its inputs, which a registration lists first.
        wanted = param.name if param.name in own.params else own.params[place]
        for other in ops.named(own.name):
            twin = other.function
            home = (
                change.unit(twin.path)
                if twin is not None and twin.path != delta.unit.path
                else None
            )
            if twin is None or home is None or wanted not in other.params:
                continue
            name = next((n for n in (wanted, param.name) if n in {p.name for p in twin.params}), "")
            if name and has_word(body_code(twin, code_without_comments(home, twin)), name):
                line = _line_of(home, twin, name)
                verdict = Message("honours", {"name": name})
                return (
                    Sibling(
                        Location(home.path, line), twin.name, "", verdict, home.text(line).strip()
                    ),
                )
    return ()


def _line_of(unit: SourceFile, function: Function, name: str) -> int:
    """The last line of `function` that names `name`: behind its parameters, most likely where it counts."""
    lines = range(function.end_line, function.start_line, -1)
    return next((n for n in lines if has_word(unit.text(n), name)), function.start_line)
