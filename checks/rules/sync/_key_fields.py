"""Fields of data classes: assigned where they cannot be, or gone and still used."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from functools import partial

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Definition, Finding, Location, Message, Severity
from checks.domain.call_targets import nearest_imports
from checks.domain.keys import calling_files, changed_python
from checks.domain.ops import calls_of
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Class, Function, SourceFile
from checks.lang.ir.stmt import Assign, guarded_statements, unreached

_FIELD = re.compile(r"^\s+(\w+)\s*:\s*[\"']?(?:Optional\[)?[\"']?(\w+)")

_TUPLE = re.compile(r"^\s*class\s+(\w+)\(.*NamedTuple")


def read_only(change: ChangeSet, config: Config, rule: str) -> Iterator[Finding]:
    """`x.field.name = value` where every class with that field declares it as a NamedTuple."""
    for _, head in change.changed_functions():
        if head is None or not head.path.endswith(".py") or config.is_test(head.path):
            continue
        bad: list[tuple[Assign, Class, SourceFile, str]] = []
        for guarded in guarded_statements(head.body):
            stmt = guarded.stmt
            if isinstance(stmt, Assign) and change.touches(head.path, stmt.line, stmt.end_line):
                match stmt.target:
                    case E.Attr(base=E.Attr(base=holder, name=field), name=name) if (
                        holder != E.Name("self")
                    ):
                        found = change.memo(
                            (_named_tuple, field), partial(_named_tuple, field, change, config)
                        )
                        if found is not None:
                            bad.append((stmt, *found, name))
        if bad:
            yield _read_only(bad, head, rule)


def _named_tuple(field: str, change: ChangeSet, config: Config) -> tuple[Class, SourceFile] | None:
    """The NamedTuple that `field` is declared as, if all its declarations say the same."""
    tuples = change.memo(
        _TUPLE,
        lambda: {
            m[1] for h in change.head.find("NamedTuple", "python") if (m := _TUPLE.match(h.text))
        },
    )
    hits = (
        [
            h
            for h in change.head.find(field, "python")
            if h.path.endswith(".py") and not config.is_test(h.path)
        ]
        if tuples
        else []
    )
    types = {(m[2], h.path) for h in hits if (m := _FIELD.match(h.text)) and m[1] == field}
    if not {name for name, _ in types} & tuples:
        return None
    classes = {_class(name, path, change) for name, path in types if name[:1].isupper()}
    found = next(iter(classes), None) if len(classes) == 1 else None
    if found is None or not any(b.rsplit(".", 1)[-1] == "NamedTuple" for b in found[0].bases):
        return None
    unit = change.unit(found[1])
    return (found[0], unit) if unit is not None else None


def _class(name: str, path: str, change: ChangeSet) -> tuple[Class, str] | None:
    """The class `name` as the file `path` has or imports it."""
    unit = change.unit(path)
    own = next((c for c in unit.classes if c.name == name), None) if unit is not None else None
    if own is not None:
        return own, path
    for item in unit.imports if unit is not None else ():
        if (item.alias or item.name) == name and item.module:
            for prefix in ("", "python/", "src/"):
                there = f"{prefix}{item.module.replace('.', '/')}.py"
                other = change.unit(there)
                for c in other.classes if other is not None else ():
                    if c.name == item.name:
                        return c, there
    return None


def _read_only(
    bad: list[tuple[Assign, Class, SourceFile, str]], function: Function, rule: str
) -> Finding:
    first, cls, unit, _ = bad[0]
    fields = fields_of(cls, unit)
    unknown = [name for *_, name in bad if name not in fields]
    names = [name for *_, name in bad]
    at = Location(unit.path, cls.start_line)
    return Finding(
        rule=rule,
        severity=Severity.BUG,
        confidence=Confidence.HIGH,
        location=Location(function.path, first.line, bad[-1][0].line),
        message=Message(
            "read-only", {"names": names, "type": cls.name, "at": at, "unknown": unknown}
        ),
        symbol=function.qualname,
        subject=" ".join(names),
        evidence=(
            Definition(cls.name, at, ", ".join(fields), unit.lines[cls.start_line - 1].strip()),
        ),
    )


def fields_of(cls: Class, unit: SourceFile) -> dict[str, int]:
    """The declared fields of a class, with their lines."""
    return {c.name: c.line for c in unit.constants if c.owner == cls.name and c.kind == "field"}


def is_record(cls: Class) -> bool:
    """A data class or a named tuple: its fields are its constructor's parameters."""
    return any("dataclass" in d for d in cls.decorators) or any(
        b.endswith("NamedTuple") for b in cls.bases
    )


def gone(change: ChangeSet, config: Config, rule: str) -> Iterator[Finding]:
    """A field that this change took out of a data class, and calls that still pass it."""
    for old, unit in changed_python(change, config):
        before = {c.name: c for c in old.classes if is_record(c)} if old is not None else {}
        for cls in unit.classes if old is not None else ():
            if (
                cls.name in before
                and is_record(cls)
                and old is not None
                and not set(cls.bases) - {"NamedTuple"}
            ):
                now = fields_of(cls, unit)
                lost = [f for f in fields_of(before[cls.name], old) if f not in now]
                if lost:
                    yield from _still_passed(cls, unit, lost, now, change, config, rule)


def _still_passed(
    cls: Class,
    unit: SourceFile,
    lost: list[str],
    now: dict[str, int],
    change: ChangeSet,
    config: Config,
    rule: str,
) -> Iterator[Finding]:
    for path in calling_files(cls.name, change, config):
        other = change.unit(path)
        bad: list[tuple[int, str, Function]] = []
        for function in other.functions if other is not None else ():
            if other is not None and cls.name + "(" in other.text(
                function.start_line, function.end_line
            ):
                dead = [range(s.line, s.end_line + 1) for s in unreached(function.body)]
                for call, _ in calls_of(function.body):
                    if E.callee(call) != cls.name or any(call.line in lines for lines in dead):
                        continue
                    if other.function_at(call.line) is function and _is_it(
                        call, cls, unit, function, other
                    ):
                        bad += [
                            (v.line or call.line, k, function)
                            for k, v in call.keywords
                            if k in lost
                        ]
        if bad:
            yield _gone(cls, unit, path, bad, now, rule)


def _is_it(
    call: E.Call, cls: Class, unit: SourceFile, function: Function, caller: SourceFile
) -> bool:
    """Whether the name that is called can be this class, as far as imports tell: others may be called the same."""
    if caller.path == unit.path or not isinstance(call.func, E.Name):
        return True
    module = unit.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    imports = nearest_imports(cls.name, call.line, function, caller)
    packages = [i.module.lstrip(".") for i in imports]
    if not imports:
        return not any(c.name == cls.name for c in caller.classes)
    return any(not p or f".{p}." in f".{module}." for p in packages)


def _gone(
    cls: Class,
    unit: SourceFile,
    path: str,
    bad: list[tuple[int, str, Function]],
    now: dict[str, int],
    rule: str,
) -> Finding:
    line, first, function = bad[0]
    names = sorted({name for _, name, _ in bad})
    near = difflib.get_close_matches(first, list(now), 1, 0.7)
    at = Location(unit.path, cls.start_line)
    args = {
        "names": names,
        "type": cls.name,
        "at": at,
        "near": near[0] if near else "",
        "more": len(bad) - len(names),
    }
    return Finding(
        rule=rule,
        severity=Severity.BUG,
        confidence=Confidence.HIGH,
        location=Location(path, line),
        message=Message("gone", args),
        symbol=function.qualname,
        subject=f"{cls.name} {' '.join(names)}",
        evidence=(
            Definition(cls.name, at, ", ".join(now), unit.lines[cls.start_line - 1].strip()),
        ),
    )
