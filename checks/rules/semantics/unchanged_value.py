"""An assignment gives something the value that it has.

## What it does

In functions, on lines that the change wrote: `x = x`, `self.a = self.a`, `d["k"] = d["k"]`, and
`d["k"] = d.pop("k")`, which takes an entry out and puts it back.

## Why it matters

Something else was meant on one of the two sides. `PaddlePaddle/FastDeploy#2737` wrote
`config["tie_word_embeddings"] = config.pop("tie_word_embeddings")` where the model's own
configuration should have got it, and some models answered with garbage, until #2783.

## Example

```python
if "tie" in config:
    config["tie"] = config.pop("tie")       # changes nothing
```

## Known limits

Attributes that have a setter anywhere in the tree are left out, and so are keys that are no
literals: a cache moves an entry to its end this way. So is the only statement of a branch where
another branch of the same `if` gives the target something else.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import changed_functions
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Severity
from checks.lang.ir import expr as E
from checks.lang.ir.stmt import Assign, If, Stmt, blocks

ID = "semantics.unchanged-value"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each assignment."""
    for changed in changed_functions(change, config):
        kept = _lines_of_choices(changed.head.body)
        for guarded in changed.statements:
            stmt = guarded.stmt
            if not isinstance(stmt, Assign) or not changed.touched(stmt.line, stmt.end_line):
                continue
            if stmt.line in kept:
                continue
            # The tree does not say what is awaited.
            if "await" in changed.unit.text(stmt.line, stmt.end_line):
                continue
            if _changes_nothing(stmt) and not _has_setter(stmt.target, change):
                yield changed.finding(
                    ID,
                    stmt,
                    "same",
                    severity=Severity.SUGGESTION,
                    confidence=Confidence.HIGH,
                    code=changed.unit.excerpt(stmt.line),
                )


def _lines_of_choices(body: tuple[Stmt, ...]) -> set[int]:
    """The lines of branches that have nothing else to do, where another branch of the same choice
    gives the target something: this one says that it stays as it is."""
    lines: set[int] = set()
    for block in blocks(body):
        for stmt in block:
            if not isinstance(stmt, If):
                continue
            arms = list(_arms(stmt))
            for arm in arms:
                if len(arm) != 1 or not isinstance(arm[0], Assign):
                    continue
                target = arm[0].target
                others = [part for other in arms if other is not arm for part in other]
                if any(isinstance(part, Assign) and part.target == target for part in others):
                    lines.add(arm[0].line)
    return lines


def _arms(choice: If) -> Iterator[tuple[Stmt, ...]]:
    """The branches of `if`, `elif` and `else`."""
    yield choice.then
    match choice.orelse:
        case (If() as other,):
            yield from _arms(other)
        case rest:
            yield rest


def _changes_nothing(stmt: Assign) -> bool:
    if stmt.op != "=" or stmt.declares or stmt.value is None:
        return False
    return stmt.value == stmt.target if _is_place(stmt.target) else _puts_back(stmt)


def _is_place(target: E.Expr) -> bool:
    """Whether reading the target does nothing else: a name, an attribute, an entry by a literal."""
    match target:
        case E.Name():
            return True
        case E.Attr(base=base):
            return _is_place(base)
        case _:
            return False


def _puts_back(stmt: Assign) -> bool:
    """`d["k"] = d["k"]` and `d["k"] = d.pop("k")`."""
    match stmt.target:
        case E.Index(base=base, indices=(E.Const(value=str()) as key,)) if _is_place(base):
            taken = E.Call(E.Attr(base, "pop"), (key,))
            return stmt.value in (stmt.target, taken)
        case _:
            return False


def _has_setter(target: E.Expr, change: ChangeSet) -> bool:
    """Whether an assignment to the attribute runs code somewhere in the tree."""
    if not isinstance(target, E.Attr):
        return False
    found = change.head.find(target.name, "python")
    return any(f"@{target.name}.setter" in line.text for line in found)
