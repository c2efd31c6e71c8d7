"""Whether the declarations of an op's function, and the names given to its arguments, agree with its definition."""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Definition, Finding, Location, Message, Severity
from checks.lang.ir.source_file import Binding, Declaration, Function, SourceFile
from checks.lang.source import language
from checks.rules.sync._op_registration import differ


def declarations(change: ChangeSet, config: Config, rule: str) -> Iterator[Finding]:
    """Declarations that do not fit their definition, where the change wrote either or altered its parameters."""
    seen: set[tuple[str, int]] = set()
    for declaration, function, unit in (*_of_functions(change, config), *_of_files(change, config)):
        key = (unit.path, declaration.line)
        wrong = _misfit(declaration, function)
        if key not in seen and wrong is not None:
            seen.add(key)
            yield _finding(declaration, function, unit, wrong, change, rule)
    for binding, params, unit in _bindings(change, config):
        yield _binding(binding, params, unit, rule)


def _of_functions(
    change: ChangeSet, config: Config
) -> Iterator[tuple[Declaration, Function, SourceFile]]:
    """Declarations of every C++ function whose parameters the change altered."""
    for old, new in change.changed_functions():
        if (
            old is None
            or new is None
            or language(new.path) != "cpp"
            or config.is_test(new.path)
            or not new.clean
        ):
            continue
        if [p.type for p in old.params] == [p.type for p in new.params]:
            continue
        for path in sorted(
            {h.path for h in change.head.find(new.name) if language(h.path) == "cpp"}
        ):
            unit = change.unit(path)
            for declaration in unit.declarations if unit is not None else ():
                if unit is not None and declaration.name.rsplit("::", 1)[-1] == new.name:
                    only = _definition(declaration, unit, change)
                    if only is not None and only.path == new.path:
                        yield declaration, only, unit


def _of_files(
    change: ChangeSet, config: Config
) -> Iterator[tuple[Declaration, Function, SourceFile]]:
    """Declarations on lines of the change whose function is bound in the same file."""
    for file in change.files:
        if (
            not file.head_path
            or language(file.head_path) != "cpp"
            or config.is_test(file.head_path)
        ):
            continue
        unit = change.unit(file.head_path)
        bound = (
            {b.function.rsplit("::", 1)[-1] for b in unit.bindings} if unit is not None else set()
        )
        for declaration in unit.declarations if unit is not None else ():
            if unit is None or declaration.name not in bound:
                continue
            if change.touches(unit.path, declaration.line, declaration.end_line):
                function = _definition(declaration, unit, change)
                if function is not None:
                    yield declaration, function, unit


def _definition(declaration: Declaration, unit: SourceFile, change: ChangeSet) -> Function | None:
    """The one definition that a declaration can mean: the only one of its name, in its folder or anywhere."""
    plain = declaration.name.rsplit("::", 1)[-1]
    found: list[Function] = []
    for path in sorted({h.path for h in change.head.find(plain) if language(h.path) == "cpp"}):
        other = change.unit(path)
        found += other.named(plain) if other is not None else []
    home = unit.path.split("/")[:2]
    near = [f for f in found if f.path.split("/")[:2] == home] or found
    whole = [f for f in near if f.clean and not any("template" in m for m in f.marks)]
    return whole[0] if len(whole) == 1 and len(near) == 1 else None


def _misfit(declaration: Declaration, function: Function) -> tuple[str, str, str] | None:
    """(key, declared, defined) of the first difference."""
    if len(declaration.params) != len(function.params):
        return "declared-count", str(len(declaration.params)), str(len(function.params))
    for left, right in zip(declaration.params, function.params, strict=True):
        if differ(left.type, right.type):
            return "declared-type", f"{left.type} {left.name}", f"{right.type} {right.name}"
    return None


def _finding(
    declaration: Declaration,
    function: Function,
    unit: SourceFile,
    wrong: tuple[str, str, str],
    change: ChangeSet,
    rule: str,
) -> Finding:
    key, given, wanted = wrong
    used = any(
        b.function.rsplit("::", 1)[-1] == declaration.name.rsplit("::", 1)[-1]
        for b in unit.bindings
    )
    place = Location(function.path, function.start_line)
    args = {"name": declaration.name, "given": given, "wanted": wanted, "at": place}
    home = change.unit(function.path)
    excerpt = home.text(function.start_line).strip() if home is not None else ""
    types = ", ".join(f"{p.type} {p.name}".strip() for p in function.params)
    return Finding(
        rule=rule,
        severity=Severity.BUG if used else Severity.SUGGESTION,
        confidence=Confidence.HIGH,
        location=Location(unit.path, declaration.line, declaration.end_line),
        message=Message(key, {**args, "used": used}),
        symbol=declaration.name,
        subject=f"{declaration.name} {given}",
        evidence=(Definition(function.name, place, types, excerpt),),
    )


def _bindings(change: ChangeSet, config: Config) -> Iterator[tuple[Binding, int, SourceFile]]:
    """Bindings that name another number of arguments than their function has, on lines of the change."""
    for file in change.files:
        if (
            not file.head_path
            or language(file.head_path) != "cpp"
            or config.is_test(file.head_path)
        ):
            continue
        unit = change.unit(file.head_path)
        for binding in unit.bindings if unit is not None else ():
            if unit is None or not binding.function:
                continue
            plain = binding.function.rsplit("::", 1)[-1]
            known = [d for d in unit.declarations if d.name.rsplit("::", 1)[-1] == plain]
            spans = [(binding.line, binding.end_line), *((d.line, d.end_line) for d in known)]
            if not any(change.touches(unit.path, *span) for span in spans):
                continue
            counts = {len(d.params) for d in known} | {len(f.params) for f in unit.named(plain)}
            if binding.args and len(counts) == 1 and len(binding.args) not in counts:
                yield binding, counts.pop(), unit


def _binding(binding: Binding, params: int, unit: SourceFile, rule: str) -> Finding:
    args = {
        "name": binding.name,
        "function": binding.function,
        "given": len(binding.args),
        "wanted": params,
    }
    return Finding(
        rule=rule,
        severity=Severity.BUG,
        confidence=Confidence.HIGH,
        location=Location(unit.path, binding.line, binding.end_line),
        message=Message("bound", args),
        symbol=binding.name,
        subject=f"{binding.name} {len(binding.args)}",
    )
