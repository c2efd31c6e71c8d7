"""A list, dict or set is used as a key: it has no hash.

## What it does

In functions that the change wrote or altered, looks at parameters that are annotated as a list,
dict or set. Reports where one of them, or a tuple that holds it, is looked up in a dict or a set,
and where the function is cached by its arguments (`functools.cache`, `lru_cache`).

## Why it matters

`vllm-project/vllm#1828` put `rope_scaling`, a dict, into the key of its cache of rotary embeddings:
every model with scaled positions failed with `TypeError` until #1867.

## Example

```python
_CACHE = {}

def get_rope(size: int, scaling: dict | None):
    key = (size, scaling)
    if key in _CACHE:             # TypeError: unhashable type: 'dict'
        return _CACHE[key]
```

## Known limits

Annotations are believed. A dict is known where the file or the class makes it with `{`, `dict(` or
`defaultdict(`, or says so; a parameter that the function gives another value is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Severity
from checks.domain.ops import statement_expressions
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Param
from checks.lang.ir.stmt import Assign
from checks.lang.python.annotations import parse_annotation

ID = "semantics.unhashable-key"

_UNHASHABLE = frozenset({"list", "List", "dict", "Dict", "set", "Set"})
_CACHES = re.compile(r"(?:functools\.)?(?:lru_cache|cache)\b")
_MADE = r"\s*(?::\s*\w*(?:dict|Dict|set|Set)\w*\b[^=\n]*)?=\s*(?:\{|\w*dict\(|\w*Dict\(|set\()"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each parameter that is wrong."""
    for changed in changed_functions(change, config):
        if changed.python:
            yield from _wrong_keys(changed)


def _wrong_keys(changed: ChangedFunction) -> Iterator[Finding]:
    for param in changed.head.params:
        kind = _unhashable_kind(param)
        if not kind or _is_set_anew(param.name, changed):
            continue
        if any(_CACHES.match(mark) for mark in changed.head.marks):
            if changed.touched(changed.head.start_line, param.line or changed.head.start_line):
                yield _finding("cached", param.line, param.name, kind, changed)
            continue
        line = _line_of_key(param.name, changed)
        if line:
            yield _finding("key", line, param.name, kind, changed)


def _unhashable_kind(param: Param) -> str:
    annotation = parse_annotation(param.type) if param.type else None
    if annotation is None or param.kind in ("args", "kwargs"):
        return ""
    plain = annotation.name.rsplit(".", 1)[-1]
    return plain.lower() if plain in _UNHASHABLE else ""


def _is_set_anew(name: str, changed: ChangedFunction) -> bool:
    for guarded in changed.statements:
        stmt = guarded.stmt
        if isinstance(stmt, Assign) and name in _names_set(stmt):
            return True
    return False


def _names_set(stmt: Assign) -> set[str]:
    plain = isinstance(stmt.target, E.Name | E.Sequence)
    return E.names(stmt.target) if plain else set()


def _line_of_key(name: str, changed: ChangedFunction) -> int:
    """The line that makes the key with which a dict is asked, or asks it; 0 where none does."""
    tuples = dict(_tuples_with(name, changed))
    for guarded, expressions in statement_expressions(changed.head.body):
        for expr in expressions:
            key = _looked_up(expr, changed)
            if key is None:
                continue
            line = expr.line or guarded.stmt.line
            if isinstance(key, E.Name) and key.id in tuples:
                made = tuples[key.id]
                if changed.touched(made) or changed.touched(line):
                    return made
            elif _holds(key, name) and changed.touched(line):
                return line
    return 0


def _tuples_with(name: str, changed: ChangedFunction) -> Iterator[tuple[str, int]]:
    """(local name, line) of each tuple of which the parameter is an element."""
    for guarded in changed.statements:
        match guarded.stmt:
            case Assign(target=E.Name(id=local), op="=", value=E.Sequence(kind="tuple") as value):
                if _holds(value, name):
                    yield local, guarded.stmt.line
            case _:
                pass


def _holds(key: E.Expr, name: str) -> bool:
    """Whether the hash of `key` needs that of `name`."""
    match key:
        case E.Name(id=other):
            return other == name
        case E.Sequence(kind="tuple", items=items):
            return any(_holds(item, name) for item in items)
        case _:
            return False


def _looked_up(expr: E.Expr, changed: ChangedFunction) -> E.Expr | None:
    """The key, where `expr` looks something up in a dict or set."""
    match expr:
        case E.Index(base=base, indices=(key,)) if _is_dict(base, changed):
            return key
        case E.Index(base=base, indices=indices) if _is_dict(base, changed):
            return E.Sequence("tuple", indices)
        case E.Binary(op="in" | "not-in", left=key, right=base) if _is_dict(base, changed):
            return key
        case _:
            return None


def _is_dict(base: E.Expr, changed: ChangedFunction) -> bool:
    """Whether the file makes a dict or set under the name `base`, and nothing else."""
    name = E.dotted(base)
    if name is None:
        return False
    assigned = re.compile(rf"^\s*{re.escape(name)}(\s*(?::[^=\n]+)?=[^=].*)$", re.MULTILINE)
    text = "\n".join(changed.unit.lines)
    made = [match[1] for match in assigned.finditer(text)]
    return bool(made) and all(re.match(_MADE, value) for value in made)


def _finding(key: str, line: int, name: str, kind: str, changed: ChangedFunction) -> Finding:
    return changed.finding(
        ID,
        line,
        key,
        severity=Severity.BUG,
        confidence=Confidence.HIGH,
        subject=name,
        name=name,
        kind=kind,
        function=changed.head.name,
    )
