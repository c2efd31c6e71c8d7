"""A condition asks for a function and does not call it, so it always holds.

## What it does

In Python that the change wrote: a name that stands as a condition, or as an operand of `and`, `or`
and `not` in one, and that means a function of the tree or a method of the class.

## Why it matters

sgl-project/sglang#7635 wrote `and is_cuda and` where the flag is called `_is_cuda`: the kernel for
CUDA was chosen on every platform, until #7790.

## Example

```python
from engine.platform import is_cuda      # a function

if is_cuda and rows <= 16:               # holds everywhere; meant: is_cuda()
```

## Known limits

Only functions that are defined once, or imported by one unconditional import, and bound nowhere
else in the file count: what may be None instead of a function is asked for rightly.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Severity
from checks.domain.calls.names import bound_names, nearest_imports
from checks.domain.ops import expressions_of
from checks.eval.interpreter.modules import Modules
from checks.eval.interpreter.program import PatchedModules
from checks.eval.interpreter.values import FuncRef
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assert, For, If, Stmt

ID = "semantics.function-as-condition"

# Decorators that leave a function a function.
_STILL_FUNCTION = re.compile(
    r"^(functools\.)?(lru_)?cache\b(?!d_property)|^(static|class)method$|no_grad|inference_mode"
)


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each function that a condition asks for without calling it."""
    for changed in changed_functions(change, config):
        if changed.python:
            yield from _asked_functions(changed, change)


def _asked_functions(changed: ChangedFunction, change: ChangeSet) -> Iterator[Finding]:
    told: set[str] = set()
    for guarded in changed.statements:
        stmt = guarded.stmt
        for asked in _conditions_of(stmt):
            line = asked.line or stmt.line
            name = E.dotted(asked) or ""
            if name in told or not changed.touched(line):
                continue
            function = _meant_function(asked, line, changed, change)
            if function is not None:
                told.add(name)
                yield changed.finding(
                    ID,
                    line,
                    "always",
                    severity=Severity.BUG,
                    confidence=Confidence.HIGH,
                    subject=name,
                    name=name,
                    at=f"{function.path}:{function.start_line}",
                )


def _conditions_of(stmt: Stmt) -> Iterator[E.Expr]:
    """The names that a statement asks for their truth."""
    match stmt:
        case If(test=test) | Assert(test=test):
            yield from _asked(test, as_condition=True)
        case For(test=test) if test is not None:
            yield from _asked(test, as_condition=True)
    for top in expressions_of(stmt):
        yield from _asked(top, as_condition=False)


def _asked(expr: E.Expr, *, as_condition: bool) -> Iterator[E.Expr]:
    match expr:
        case E.Name() | E.Attr(base=E.Name()) if as_condition:
            yield expr
        case E.Binary(op="and" | "or", left=left, right=right):
            yield from _asked(left, as_condition=True)
            # `name or default` gives its last operand, which nobody asks for its truth here.
            yield from _asked(right, as_condition=as_condition)
        case E.Unary(op="not", operand=operand):
            yield from _asked(operand, as_condition=True)
        case E.Ternary(test=test, then=then, orelse=orelse):
            yield from _asked(test, as_condition=True)
            yield from _asked(then, as_condition=as_condition)
            yield from _asked(orelse, as_condition=as_condition)
        case _:
            for child in E.children(expr):
                yield from _asked(child, as_condition=False)


def _meant_function(
    asked: E.Expr, line: int, changed: ChangedFunction, change: ChangeSet
) -> Function | None:
    """The function that the name certainly means."""
    match asked:
        case E.Name(id=name):
            function = _named_function(name, line, changed, change)
        case E.Attr(base=E.Name(id="self"), name=name):
            function = _own_method(name, changed)
        case _:
            return None
    if function is None or not all(_STILL_FUNCTION.search(mark) for mark in function.marks):
        return None
    return function


def _named_function(
    name: str, line: int, changed: ChangedFunction, change: ChangeSet
) -> Function | None:
    unit = changed.unit
    around = [function for function in unit.functions if function.covers(line)]
    if any(_binds(name, function) for function in around):
        return None
    imports = nearest_imports(name, line, changed.head, unit)
    if imports:
        if len(imports) > 1 or imports[0].guard or _is_bound_otherwise(name, unit):
            return None
        program = change.memo(ID, lambda: PatchedModules(Modules(change.unit)))
        value = program.imported(imports[0], unit).value
        if not isinstance(value, FuncRef):
            return None
        return _only_function(name=value.function.name, unit=value.unit)
    return _only_function(name, unit)


def _binds(name: str, function: Function) -> bool:
    is_param = any(param.name == name for param in function.params)
    return is_param or name in bound_names(function)


def _only_function(name: str, unit: SourceFile) -> Function | None:
    """The function `name` of the file, where nothing else there has its name."""
    defined = unit.functions_named.get(name, [])
    if len(defined) != 1 or _is_bound_otherwise(name, unit) or unit.imports_named.get(name):
        return None
    return defined[0]


def _is_bound_otherwise(name: str, unit: SourceFile) -> bool:
    """Whether the file sets the name to a value, or has a class of it."""
    return ("", name) in unit.constants_named or name in unit.classes_named


def _own_method(name: str, changed: ChangedFunction) -> Function | None:
    """The method `name` of the function's own class, where no line sets an attribute so called."""
    owner = changed.head.owner
    defined = changed.unit.functions_named.get(f"{owner}.{name}", []) if owner else []
    classes = changed.unit.classes_named.get(owner, [])
    if len(defined) != 1 or len(classes) != 1:
        return None
    # A class further down may put a value in the method's place.
    is_set = re.compile(rf"\.{re.escape(name)}\s*(?::[^=\n]+)?=(?!=)")
    if any(is_set.search(line) for line in changed.unit.lines):
        return None
    return defined[0]
