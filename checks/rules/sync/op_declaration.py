"""A declaration or binding of a C++ function does not fit its definition.

## What it does

Where the change altered the parameters of a C++ function, or wrote a declaration of one that is
bound to Python, compares declaration and definition: number of parameters, and types that are known
by name. Bindings (`m.def`) are compared with the number of parameters of the function they bind.

## Why it matters

PaddlePaddle/FastDeploy declares its ops in `cpp_extensions.cc` and defines them in other files. A
declaration that was left behind compiles: the symbol is missing when the library is loaded.

## Example

```cpp
void Match(const paddle::Tensor& ids, const int size);                  // cpp_extensions.cc

void Match(const paddle::Tensor& ids, const int size, bool strict) {}   // the change
```

## Known limits

A declaration is compared only where one definition can be meant: the only one of its name, in its
folder or anywhere. Templates are left out, and so is a declaration that is not bound and that no
other file than the definition's calls: nothing looks for its symbol.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.changed import changed_files
from checks.core.config import Config
from checks.core.finding import Confidence, Definition, Finding, Location, Message, Severity
from checks.domain.cpp_functions import plain_name
from checks.domain.ops import calls_of
from checks.domain.source_search import changed_cpp_functions, code_line, units_at
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Binding, Declaration, Function, SourceFile
from checks.rules.sync._cpp_types import certainly_differ

ID = "sync.op-declaration"


@dataclass(frozen=True, slots=True)
class DeclarationPair:
    """A declaration in `unit`, and the definition that it must mean."""

    declaration: Declaration
    unit: SourceFile
    definition: Function


@dataclass(frozen=True, slots=True)
class DeclarationMisfit:
    """A message key, with what is declared and what is defined."""

    key: str
    declared: str
    defined: str


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """Declarations that do not fit, each once, then bindings."""
    pairs = [
        *_declarations_of_changed_functions(change, config),
        *_changed_declarations(change, config),
    ]
    reported: set[tuple[str, int]] = set()
    for pair in pairs:
        place = pair.unit.path, pair.declaration.line
        misfit = _misfit(pair.declaration, pair.definition)
        if misfit is not None and place not in reported:
            reported.add(place)
            yield _declaration_finding(pair, misfit, change)
    for unit, _ in changed_files(change, config, "cpp"):
        yield from _binding_findings(unit, change)


def _declarations_of_changed_functions(
    change: ChangeSet, config: Config
) -> Iterator[DeclarationPair]:
    """The declarations of every C++ function whose parameters the change altered."""
    for base, head in changed_cpp_functions(change, config):
        if [p.type for p in base.params] == [p.type for p in head.params]:
            continue
        for unit in _cpp_files_naming(head.name, change):
            for declaration in unit.declarations:
                if plain_name(declaration.name) != head.name:
                    continue
                definition = _only_definition(declaration, unit, change)
                if definition is None or definition.path != head.path:
                    continue
                if _is_bound(declaration, unit) or _is_called_elsewhere(definition, change):
                    yield DeclarationPair(declaration, unit, definition)


def _changed_declarations(change: ChangeSet, config: Config) -> Iterator[DeclarationPair]:
    """The declarations on lines of the change whose function is bound in the same file."""
    for unit, _ in changed_files(change, config, "cpp"):
        bound = {plain_name(binding.function) for binding in unit.bindings}
        for declaration in unit.declarations:
            if declaration.name not in bound:
                continue
            if not change.touches(unit.path, declaration.line, declaration.end_line):
                continue
            definition = _only_definition(declaration, unit, change)
            if definition is not None:
                yield DeclarationPair(declaration, unit, definition)


def _is_bound(declaration: Declaration, unit: SourceFile) -> bool:
    name = plain_name(declaration.name)
    return any(plain_name(binding.function) == name for binding in unit.bindings)


def _is_called_elsewhere(definition: Function, change: ChangeSet) -> bool:
    """Whether another file than its own calls the function."""
    for unit in _cpp_files_naming(definition.name, change):
        if unit.path == definition.path:
            continue
        for function in unit.functions_naming(definition.name):
            for call, _ in calls_of(function.body):
                if plain_name(E.callee(call)) == definition.name:
                    return True
    return False


def _cpp_files_naming(word: str, change: ChangeSet) -> Iterator[SourceFile]:
    return units_at(sorted(change.head.paths_containing(word, "cpp")), change)


def _only_definition(
    declaration: Declaration, unit: SourceFile, change: ChangeSet
) -> Function | None:
    """The one definition that a declaration can mean.

    That is the only one of its name, in its folder or anywhere.
    """
    name = plain_name(declaration.name)
    definitions: list[Function] = []
    for other in _cpp_files_naming(name, change):
        definitions += other.named(name)
    # `custom_ops/gpu_ops` and `custom_ops/xpu_ops` are two libraries, with a `Match` each.
    folder = unit.path.split("/")[:2]
    near = [f for f in definitions if f.path.split("/")[:2] == folder] or definitions
    if len(near) != 1:
        return None
    definition = near[0]
    is_template = any("template" in mark for mark in definition.marks)
    return definition if definition.clean and not is_template else None


def _misfit(declaration: Declaration, definition: Function) -> DeclarationMisfit | None:
    """The first difference."""
    declared, defined = len(declaration.params), len(definition.params)
    if declared != defined:
        return DeclarationMisfit("declared-count", str(declared), str(defined))
    for left, right in zip(declaration.params, definition.params, strict=True):
        if certainly_differ(left.type, right.type):
            return DeclarationMisfit(
                "declared-type", f"{left.type} {left.name}", f"{right.type} {right.name}"
            )
    return None


def _declaration_finding(
    pair: DeclarationPair, misfit: DeclarationMisfit, change: ChangeSet
) -> Finding:
    declaration, definition, unit = pair.declaration, pair.definition, pair.unit
    is_used = _is_bound(declaration, unit)
    place = Location(definition.path, definition.start_line)
    args = {
        "name": declaration.name,
        "given": misfit.declared,
        "wanted": misfit.defined,
        "at": place,
        "used": is_used,
    }
    params = ", ".join(f"{p.type} {p.name}".strip() for p in definition.params)
    code = code_line(change.unit(definition.path), definition.start_line)
    return Finding(
        rule=ID,
        severity=Severity.BUG if is_used else Severity.SUGGESTION,
        confidence=Confidence.HIGH,
        location=Location(unit.path, declaration.line, declaration.end_line),
        message=Message(misfit.key, args),
        symbol=declaration.name,
        subject=f"{declaration.name} {misfit.declared}",
        evidence=(Definition(definition.name, place, params, code),),
    )


def _binding_findings(unit: SourceFile, change: ChangeSet) -> Iterator[Finding]:
    """Bindings on lines of the change that name another number of arguments than they should."""
    for binding in unit.bindings:
        name = plain_name(binding.function)
        declarations = [d for d in unit.declarations if plain_name(d.name) == name]
        if not name or not _is_binding_touched(binding, declarations, unit, change):
            continue
        counts = {len(d.params) for d in declarations}
        counts |= {len(f.params) for f in unit.named(name)}
        if binding.args and len(counts) == 1 and len(binding.args) not in counts:
            yield _binding_finding(binding, counts.pop(), unit)


def _is_binding_touched(
    binding: Binding, declarations: list[Declaration], unit: SourceFile, change: ChangeSet
) -> bool:
    """Whether the change wrote the binding, or a declaration of what it binds."""
    places: list[Binding | Declaration] = [binding, *declarations]
    return any(change.touches(unit.path, place.line, place.end_line) for place in places)


def _binding_finding(binding: Binding, params: int, unit: SourceFile) -> Finding:
    args = {
        "name": binding.name,
        "function": binding.function,
        "given": len(binding.args),
        "wanted": params,
    }
    return Finding(
        rule=ID,
        severity=Severity.BUG,
        confidence=Confidence.HIGH,
        location=Location(unit.path, binding.line, binding.end_line),
        message=Message("bound", args),
        symbol=binding.name,
        subject=f"{binding.name} {len(binding.args)}",
    )
