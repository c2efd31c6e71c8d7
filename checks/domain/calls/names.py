"""What the names in a Python function are bound by: its own statements, or imports."""

from __future__ import annotations

from collections.abc import Iterator

from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, Import, SourceFile
from checks.lang.ir.stmt import Assign, Define, For, Stmt, With, guarded_statements


def nearest_imports(name: str, line: int, function: Function, unit: SourceFile) -> list[Import]:
    """The imports that may bind `name` at `line`: the last one above it in the function, else those
    of the file."""
    imports = unit.imports_named.get(name, [])
    imports = [item for item in imports if (item.alias or item.name or item.module) == name]
    inside = [item for item in imports if function.start_line <= item.line <= line]
    if inside:
        return [max(inside, key=lambda item: item.line)]
    return [item for item in imports if not item.function]


def bound_names(function: Function) -> frozenset[str]:
    """Names that `function` binds itself."""
    # Kept, because every call in the function asks.
    return function.body.memo(bound_names, lambda: _bound_in(function))


def _bound_in(function: Function) -> frozenset[str]:
    names: set[str] = set()
    for guarded in guarded_statements(function.body):
        names.update(names_bound_by(guarded.stmt))
    return frozenset(names)


def names_bound_by(stmt: Stmt) -> Iterator[str]:
    """The names that a statement binds."""
    match stmt:
        case Assign(target=E.Name(id=name)) | For(target=E.Name(id=name)) | Define(name=name):
            yield name
        case Assign(target=E.Sequence(items=items)) | For(target=E.Sequence(items=items)):
            for item in items:
                if isinstance(item, E.Name):
                    yield item.id
        case With(items=items):
            for item in items:
                match item:
                    case E.Binary(op="as", right=E.Name(id=name)):
                        yield name


def enclosing_functions(function: Function, unit: SourceFile) -> list[Function]:
    """The functions in which `function` is defined, the innermost first."""
    around: list[Function] = []
    prefix = function.qualname.rpartition(".")[0]
    while prefix:
        around += unit.functions_named.get(prefix, [])
        prefix = prefix.rpartition(".")[0]
    return around


def is_local(name: str, function: Function, unit: SourceFile) -> bool:
    """Whether `name` is a parameter or variable of the function or of one around it."""
    for scope in (function, *enclosing_functions(function, unit)):
        if name in bound_names(scope) or any(param.name == name for param in scope.params):
            return True
    return False


def nested_function(name: str, function: Function, unit: SourceFile) -> Function | None:
    """The function that `name` means where `function`, or one around it, defines it and binds the
    name to nothing else."""
    for scope in (function, *enclosing_functions(function, unit)):
        if any(param.name == name for param in scope.params):
            return None
        if name not in bound_names(scope):
            continue
        binding = [
            guarded.stmt
            for guarded in guarded_statements(scope.body)
            if name in names_bound_by(guarded.stmt)
        ]
        found = unit.functions_named.get(f"{scope.qualname}.{name}", [])
        is_one = len(binding) == len(found) == 1 and isinstance(binding[0], Define)
        return found[0] if is_one else None
    return None
