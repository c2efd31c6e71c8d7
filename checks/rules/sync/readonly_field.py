"""An assignment to a field of a named tuple.

## What it does

Finds new assignments `x.field.name = value` where every class that declares `field` declares it as
one and the same NamedTuple: its fields cannot be assigned.

## Why it matters

PaddlePaddle/FastDeploy#5779 assigned to a field of a NamedTuple, which raises `AttributeError` the
first time that the line runs.

## Example

```python
class Logprobs(NamedTuple):
    ids: Tensor

class SampledToken:
    logprobs: Logprobs

sampled.logprobs.ids = sampled.logprobs.ids[order]     # AttributeError
```

## Known limits

The type of an object is known from the declarations of its field's name alone, so a name that two
classes declare with different types says nothing. Fields of `self` are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Severity
from checks.domain.source_search import changed_python_functions, product_lines
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Class, Function, SourceFile
from checks.lang.ir.stmt import Assign, guarded_statements
from checks.rules.sync._classes import class_definition, class_place, fields_of

ID = "sync.readonly-field"

_FIELD = re.compile(r"^\s+(\w+)\s*:\s*[\"']?(?:Optional\[)?[\"']?(\w+)")
_NAMED_TUPLE = re.compile(r"^\s*class\s+(\w+)\(.*NamedTuple")


@dataclass(frozen=True, slots=True)
class ReadonlyAssignment:
    """An assignment to the field `name` of the named tuple `cls`."""

    stmt: Assign
    name: str
    cls: Class
    unit: SourceFile


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each function, with all fields that it assigns."""
    for _, head, _ in changed_python_functions(change, config):
        assignments = list(_readonly_assignments(head, change, config))
        if assignments:
            yield _finding(assignments, head)


def _readonly_assignments(
    function: Function, change: ChangeSet, config: Config
) -> Iterator[ReadonlyAssignment]:
    for guarded in guarded_statements(function.body):
        stmt = guarded.stmt
        if not isinstance(stmt, Assign):
            continue
        if not change.touches(function.path, stmt.line, stmt.end_line):
            continue
        match stmt.target:
            case E.Attr(base=E.Attr(base=holder, name=field), name=name):
                # `self.x.name = value`: a field of `self` may hold anything.
                if holder == E.Name("self"):
                    continue
                named_tuple = _named_tuple_of(field, change, config)
                if named_tuple is not None:
                    cls, unit = named_tuple
                    yield ReadonlyAssignment(stmt, name, cls, unit)


def _named_tuple_of(
    field: str, change: ChangeSet, config: Config
) -> tuple[Class, SourceFile] | None:
    """The NamedTuple that `field` is declared as, where all its declarations say the same."""
    named_tuples = _named_tuple_names(change)
    if not named_tuples:
        return None
    declarations = _declared_types(field, change, config)
    if not any(type_name in named_tuples for type_name, _ in declarations):
        return None
    classes: set[tuple[Class, str] | None] = set()
    for type_name, path in declarations:
        if type_name[:1].isupper():
            classes.add(_find_class(type_name, path, change))
    only_class = classes.pop() if len(classes) == 1 else None
    if only_class is None:
        return None
    cls, path = only_class
    unit = change.unit(path)
    if unit is None or not any(b.rsplit(".", 1)[-1] == "NamedTuple" for b in cls.bases):
        return None
    return cls, unit


def _declared_types(field: str, change: ChangeSet, config: Config) -> set[tuple[str, str]]:
    """(name of the type, file) of each declaration `field: Type` in the product."""
    types: set[tuple[str, str]] = set()
    for line in product_lines(field, change, config):
        declaration = _FIELD.match(line.text)
        if declaration is not None and declaration[1] == field:
            types.add((declaration[2], line.path))
    return types


def _named_tuple_names(change: ChangeSet) -> set[str]:
    """The names of the tree's classes that extend NamedTuple; most trees have few or none."""

    def search() -> set[str]:
        names: set[str] = set()
        for line in change.head.find("NamedTuple", "python"):
            definition = _NAMED_TUPLE.match(line.text)
            if definition is not None:
                names.add(definition[1])
        return names

    return change.memo((ID, "named tuples"), search)


def _find_class(name: str, path: str, change: ChangeSet) -> tuple[Class, str] | None:
    """(class, its file) of the class `name` as the file `path` has or imports it."""
    unit = change.unit(path)
    if unit is None:
        return None
    own = unit.classes_named.get(name)
    if own:
        return own[0], path
    for item in unit.imports:
        if (item.alias or item.name) != name or not item.module:
            continue
        module_path = f"{item.module.replace('.', '/')}.py"
        # Packages stand at the root, or below one of these folders.
        for candidate in (module_path, f"python/{module_path}", f"src/{module_path}"):
            other = change.unit(candidate)
            classes = other.classes_named.get(item.name) if other is not None else None
            if classes:
                return classes[0], candidate
    return None


def _finding(assignments: list[ReadonlyAssignment], function: Function) -> Finding:
    first, last = assignments[0], assignments[-1]
    fields = list(fields_of(first.cls, first.unit))
    names = [assignment.name for assignment in assignments]
    args = {
        "names": names,
        "type": first.cls.name,
        "at": class_place(first.cls, first.unit),
        "unknown": [name for name in names if name not in fields],
    }
    return Finding(
        rule=ID,
        severity=Severity.BUG,
        confidence=Confidence.HIGH,
        location=Location(function.path, first.stmt.line, last.stmt.line),
        message=Message("read-only", args),
        symbol=function.qualname,
        subject=" ".join(names),
        evidence=(class_definition(first.cls, first.unit, fields),),
    )
