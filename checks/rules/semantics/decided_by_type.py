"""A test has one outcome whatever the values are, because of what kinds they are of.

## What it does

In Python that the change wrote, finds comparisons (`==`, `!=`, `in`) of a text with an object of a
class of the tree that is equal to no text: an enumeration, or a class without `__eq__`. And
`isinstance(cls, Class)` where `cls` is a class itself, not an object of it.

## Why it matters

`PaddlePaddle/FastDeploy#2969` made `moe_phase` an object, and went on comparing it with
`"prefill"`, so that a prefill server built the runner of the other phase, until #3060.
`vllm-project/vllm#24722` asked `isinstance(kernel_type, MarlinLinearKernel)` of a class, and no
input was quantised, until #31572.

## Example

```python
class Phase(Enum):
    PREFILL = "prefill"

def runner(phase: Phase):
    if phase == "prefill":      # never: Phase.PREFILL is no text
        return PrefillRunner()
```

## Known limits

Annotations are believed. An attribute of an object of unknown kind counts where every assignment to
an attribute of this name in the tree makes an object of one class.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Severity
from checks.domain.calls.value_types import Scope
from checks.domain.ops import expressions_of
from checks.lang.ir import expr as E
from checks.rules.semantics._kinds import class_of, equals_no_text, is_class_itself

ID = "semantics.decided-by-type"

_COMPARISONS = frozenset({"==", "!="})
_MEMBERSHIP = frozenset({"in", "not-in"})


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for changed in changed_functions(change, config):
        if changed.python:
            yield from _decided_tests(changed, change, config)


def _decided_tests(
    changed: ChangedFunction, change: ChangeSet, config: Config
) -> Iterator[Finding]:
    for guarded in changed.statements:
        stmt = guarded.stmt
        scope = Scope(changed.head, changed.unit, guarded.guards)
        for top in expressions_of(stmt):
            for expr in E.walk(top):
                if not changed.touched(expr.line or stmt.line):
                    continue
                found = _decided(expr, scope, change, config)
                if found is not None:
                    yield found.finding(changed, expr.line or stmt.line)


@dataclass(frozen=True, slots=True)
class _Decision:
    """Which value decides the test, and of what kind it is."""

    key: str
    value: E.Expr
    kind: str
    certain: bool

    def finding(self, changed: ChangedFunction, line: int) -> Finding:
        name = E.dotted(self.value) or changed.unit.excerpt(line)
        return changed.finding(
            ID,
            line,
            self.key,
            severity=Severity.BUG if self.certain else Severity.SUGGESTION,
            confidence=Confidence.HIGH if self.certain else Confidence.MEDIUM,
            name=name,
            kind=self.kind,
        )


def _decided(expr: E.Expr, scope: Scope, change: ChangeSet, config: Config) -> _Decision | None:
    match expr:
        case E.Call(func=E.Name(id="isinstance"), args=(value, cls)):
            return _class_asked(value, cls, scope, change)
        case E.Binary():
            return _text_compared(expr, scope, change, config)
        case _:
            return None


def _text_compared(
    expr: E.Binary, scope: Scope, change: ChangeSet, config: Config
) -> _Decision | None:
    compared = _compared_with_text(expr)
    if compared is None or _may_be_text(compared, scope):
        return None
    kind = class_of(compared, scope, change, config)
    if kind is None or not equals_no_text(kind, change):
        return None
    return _Decision("text", compared, kind.ref.cls.name, kind.exact)


def _compared_with_text(expr: E.Binary) -> E.Expr | None:
    """What a comparison compares with a text, or with several."""
    left, right = expr.left, expr.right
    if expr.op in _COMPARISONS and _is_text(right) and not _is_text(left):
        return left
    if expr.op in _COMPARISONS and _is_text(left) and not _is_text(right):
        return right
    if expr.op in _MEMBERSHIP and isinstance(right, E.Sequence) and right.items:
        return left if all(map(_is_text, right.items)) else None
    return None


def _is_text(expr: E.Expr) -> bool:
    return isinstance(expr, E.Const) and isinstance(expr.value, str)


def _may_be_text(value: E.Expr, scope: Scope) -> bool:
    """Whether the annotation of a parameter is denied by its own default."""
    for param in scope.function.params:
        if value == E.Name(param.name) and param.default is not None and _is_text(param.default):
            return True
    return False


def _class_asked(value: E.Expr, cls: E.Expr, scope: Scope, change: ChangeSet) -> _Decision | None:
    if not isinstance(cls, E.Name | E.Attr) or cls == E.Name("type"):
        return None
    if not is_class_itself(value, scope, change):
        return None
    return _Decision("class", value, E.dotted(cls) or "", True)
