"""Members of a batch class that are gone or have fewer dimensions since this change, used as they were before."""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import (
    Confidence,
    Definition,
    Finding,
    Location,
    Message,
    Related,
    Severity,
)
from checks.domain.keys import (
    Use,
    asks_platform,
    calling_files,
    changed_python,
    looked_for,
    product_files,
    uses,
)
from checks.domain.ops import callers, expressions_of
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Class, Function, SourceFile
from checks.lang.ir.stmt import Assign, guarded_statements

_MAKERS = frozenset({"full", "zeros", "ones", "empty"})
_Dims = dict[str, tuple[int, int]]


def lost_members(change: ChangeSet, config: Config, rule: str) -> Iterator[Finding]:
    """`self.batch["k"]` where `self.batch = Batch(...)` and no method of `Batch` sets `k` since this change."""
    for old, unit in changed_python(change, config):
        for cls in unit.classes if old is not None else ():
            if old is None or [c.name for c in old.classes].count(cls.name) != 1:
                continue
            lost = _lost(old, cls, unit) if set(cls.bases) <= {"object", "dict"} else set()
            for path in calling_files(cls.name, change, config) if lost else ():
                other = change.unit(path)
                if other is not None:
                    yield from _still_used(cls, unit, lost, other, change, rule)


def _lost(old: SourceFile, cls: Class, unit: SourceFile) -> set[str]:
    """What the class had and has no more. Methods that did not change lose nothing, and need not be looked into."""
    methods = [
        (f, unit.text(f.start_line, f.end_line)) for f in unit.functions if f.owner == cls.name
    ]
    same = {text for _, text in methods}
    gone = [
        f
        for f in old.functions
        if f.owner == cls.name and old.text(f.start_line, f.end_line) not in same
    ]
    lost = {c.name for c in old.constants if c.owner == cls.name} | {f.name for f in gone}
    lost |= {key for f in gone for key in _set(f)}
    lost -= {c.name for c in unit.constants if c.owner == cls.name} | {f.name for f, _ in methods}
    for method, text in methods:
        if any(key in text for key in lost):
            lost -= _set(method)
    return lost


def _set(method: Function) -> set[str]:
    return {u.key for u in uses(method) if u.holder == "self" and u.sets}


def _still_used(
    cls: Class, unit: SourceFile, lost: set[str], other: SourceFile, change: ChangeSet, rule: str
) -> Iterator[Finding]:
    """One finding for each file that makes the class and still asks it for what it no longer has."""
    holders = {
        stmt.target.name
        for f in callers(cls.name, other)
        for stmt in (g.stmt for g in guarded_statements(f.body))
        if isinstance(stmt, Assign)
        and isinstance(stmt.target, E.Attr)
        and isinstance(stmt.value, E.Call)
        and stmt.value.func == E.Name(cls.name)
    }
    found = (
        [
            (u, f)
            for f in _naming(lost, other)
            for u in uses(f)
            if u.holder in holders and u.key in lost
        ]
        if holders
        else []
    )
    put = {u.key for u, _ in found if u.sets}
    bad: dict[str, tuple[Use, Function]] = {}
    for use, function in found:
        if (
            not use.sets
            and use.key not in put
            and not looked_for(use)
            and not asks_platform(use.guards)
        ):
            bad.setdefault(use.key, (use, function))
    if bad:
        first, function = min(bad.values(), key=lambda pair: pair[0].line)
        at = Location(unit.path, cls.start_line)
        others = [u for u, _ in bad.values() if u is not first]
        yield Finding(
            rule=rule,
            severity=Severity.BUG,
            confidence=Confidence.HIGH,
            location=Location(other.path, first.line),
            message=Message(
                "lost-members",
                {"keys": sorted(bad), "holder": first.holder, "type": cls.name, "at": at},
            ),
            symbol=function.qualname,
            subject=f"{cls.name} {' '.join(sorted(bad))}",
            evidence=(
                Definition(
                    cls.name, at, ", ".join(sorted(bad)), unit.lines[cls.start_line - 1].strip()
                ),
            ),
            related=tuple(
                Related(Location(other.path, u.line), Message("read-here")) for u in others
            ),
        )


def _naming(keys: set[str], unit: SourceFile) -> list[Function]:
    """The functions in whose text one of `keys` stands."""
    texts = ((f, unit.text(f.start_line, f.end_line)) for f in unit.functions)
    return [f for f, text in texts if any(key in text for key in keys)]


def flattened(change: ChangeSet, config: Config, rule: str) -> Iterator[Finding]:
    """A member that had more dimensions before this change, and code that still indexes all of them."""
    for old, unit in changed_python(change, config):
        was, now = _both_dims(old, unit) if old is not None else ({}, {})
        for key in sorted(k for k in now if k in was and now[k][0] < was[k][0]):
            paths = product_files(key, change, config)
            makers = {p: d for p in paths if (d := _made(key, p, change))}
            for path in paths:
                hardware = config.hardware_of(path)
                own = [p for p in makers if config.hardware_of(p) == hardware and p != unit.path]
                shared = all(d <= now[key][0] for d in makers.values())
                if (hardware and not own) or shared:
                    yield from _indexed(key, now[key], unit, path, change, rule)


def _both_dims(old: SourceFile, unit: SourceFile) -> tuple[_Dims, _Dims]:
    """`_dims` before and after the change of the members that a function makes which is not the same in both: nothing
    about the others can have changed."""
    before, after = _makers(old), _makers(unit)
    unlike = [f for text, f in before.items() if text not in after] + [
        f for text, f in after.items() if text not in before
    ]
    keys = {key for function in unlike for key, _, _ in _made_in(function)}
    return _dims(old, keys), _dims(unit, keys)


def _makers(unit: SourceFile) -> dict[str, Function]:
    """The functions that name a maker, by their text."""
    texts = {unit.text(f.start_line, f.end_line): f for f in unit.functions}
    return {text: f for text, f in texts.items() if any(maker in text for maker in _MAKERS)}


def _dims(unit: SourceFile, keys: set[str]) -> _Dims:
    """(dimensions, line) of those of the members `keys` that are made with a list of sizes, where all places agree."""
    found: dict[str, set[tuple[int, int]]] = {}
    for function in _naming(keys, unit) if keys else ():
        text = unit.text(function.start_line, function.end_line)
        for key, count, line in (
            _made_in(function) if any(maker in text for maker in _MAKERS) else ()
        ):
            if key in keys:
                found.setdefault(key, set()).add((count, line))
    return {k: min(v, key=lambda c: c[1]) for k, v in found.items() if len({c for c, _ in v}) == 1}


def _made_in(function: Function) -> Iterator[tuple[str, int, int]]:
    """(member, dimensions, line) of each that `function` makes with a list of sizes."""
    for use in uses(function):
        if use.sets and isinstance(use.value, E.Call) and E.callee(use.value) in _MAKERS:
            count = _sizes(use.value)
            if count:
                yield use.key, count, use.line


def _sizes(call: E.Call) -> int:
    shape = next(
        (v for k, v in call.keywords if k in ("shape", "size")), call.args[0] if call.args else None
    )
    return len(shape.items) if isinstance(shape, E.Sequence) else 0


def _made(key: str, path: str, change: ChangeSet) -> int:
    unit = change.unit(path)
    return _dims(unit, {key}).get(key, (0, 0))[0] if unit is not None else 0


def _indexed(
    key: str, now: tuple[int, int], unit: SourceFile, path: str, change: ChangeSet, rule: str
) -> Iterator[Finding]:
    other = change.unit(path)
    hits: list[tuple[int, Function]] = []
    for function in other.functions if other is not None else ():
        if other is None or key not in other.text(function.start_line, function.end_line):
            continue
        for guarded in guarded_statements(function.body):
            for top in expressions_of(guarded.stmt):
                hits += [
                    (e.line or guarded.stmt.line, function)
                    for e in E.walk(top)
                    if _over(e, key, now[0])
                ]
    if hits and other is not None:
        line, function = hits[0]
        at = Location(unit.path, now[1])
        yield Finding(
            rule=rule,
            severity=Severity.BUG,
            confidence=Confidence.MEDIUM,
            location=Location(path, line),
            message=Message("flattened", {"key": key, "dims": now[0], "at": at}),
            symbol=function.qualname,
            subject=key,
            evidence=(Definition(key, at, str(now[0]), unit.text(now[1]).strip()),),
            related=tuple(Related(Location(path, n), Message("read-here")) for n, _ in hits[1:]),
        )


def _over(e: E.Expr, key: str, dims: int) -> bool:
    """Whether `e` indexes more dimensions of the member than it has."""
    if (
        not isinstance(e, E.Index)
        or len(e.indices) <= dims
        or any(i == E.Const(None) for i in e.indices)
    ):
        return False
    match e.base:
        case E.Attr(name=name):
            return name == key
        case E.Index(indices=(E.Const(value=name),)):
            return bool(name == key)
    return False
