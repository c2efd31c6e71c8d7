"""Functions that go through all fields of a record or batch (reset, swap, reorder), and leave one out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Definition, Finding, Location, Message, Severity
from checks.core.tree import word_regex
from checks.domain.keys import Use, changed_python, product_files, uses
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Class, Function, SourceFile
from checks.rules.sync._key_fields import fields_of, is_record

LEAST_SET, LEAST_KNOWN = 3, 0.8
LEAST_TOUCHED, LEAST_GROUP, LEAST_COVERED = 8, 5, 0.85
_PLAIN = frozenset({"object", "bool", "str", "int", "float"})
_INIT = re.compile(r"_*init")


def record_fields(change: ChangeSet, config: Config, rule: str) -> Iterator[Finding]:
    """A field that this change added to a record, and a function that rewrites all the others of one."""
    for old, unit in changed_python(change, config):
        before = {c.name: c for c in old.classes if is_record(c)} if old is not None else {}
        for cls in unit.classes:
            if old is None or cls.name not in before or not is_record(cls):
                continue
            known = fields_of(before[cls.name], old)
            new = [
                c.name
                for c in unit.constants
                if c.owner == cls.name and c.kind == "field" and c.name not in known
            ]
            new = [n for n in new if not _plain(n, cls, unit)]
            if new and len(known) >= LEAST_SET:
                yield from _rewriters(cls, unit, set(known), new, change, config, rule)


def _plain(name: str, cls: Class, unit: SourceFile) -> bool:
    """Whether a field is declared as one number, flag, word or handle, which has no order to keep."""
    kinds = [c.type for c in unit.constants if c.owner == cls.name and c.name == name]
    words = re.findall(r"\w+", kinds[0]) if kinds else []
    return bool(words) and words[-1] in _PLAIN


def _rewriters(
    cls: Class,
    unit: SourceFile,
    known: set[str],
    new: list[str],
    change: ChangeSet,
    config: Config,
    rule: str,
) -> Iterator[Finding]:
    name = "_".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*", cls.name)).lower()
    for path in product_files(name, change, config):
        data = change.head.read(path) or b""
        here = sum(f"{name}.{f}".encode() in data for f in known)
        other = change.unit(path) if here >= max(LEAST_SET, LEAST_KNOWN * len(known)) else None
        for function in other.functions if other is not None else ():
            if other is None or name not in {p.name for p in function.params}:
                continue
            text = other.text(function.start_line, function.end_line)
            near = [f for f in known if f"{name}.{f}" in text]
            touched = {f for f in near if re.search(rf"{word_regex(f'{name}.{f}')}\b", text)}
            written = {
                f for f in near if re.search(rf"{word_regex(f'{name}.{f}')}(\.\w+)?\s*=[^=]", text)
            }
            left = [f for f in new if not re.search(rf"{word_regex(f)}\b", text)]
            if left and len(written) >= LEAST_SET and len(touched) >= LEAST_KNOWN * len(known):
                at = Location(unit.path, fields_of(cls, unit)[left[0]])
                place = Location(path, function.start_line)
                yield _left_out(left, cls.name, function, place, at, unit, sorted(written), rule)


@dataclass(frozen=True, slots=True)
class _Batch:
    """The fields that a class allocates, in order, with the first dimension of each."""

    uses: tuple[Use, ...]

    @property
    def shapes(self) -> dict[str, E.Expr]:
        return {u.key: s for u in self.uses if (s := _first_dim(u.value)) is not None}


def _first_dim(value: E.Expr | None) -> E.Expr | None:
    """`n` of `full([n, 1], 0)`, `full(shape=[n], ...)`, `zeros([n, 1]).cpu()`."""
    while (
        isinstance(value, E.Call)
        and isinstance(value.func, E.Attr)
        and not value.args
        and not value.keywords
    ):
        value = value.func.base
    if not isinstance(value, E.Call):
        return None
    shape = dict(value.keywords).get("shape") or (value.args[0] if value.args else None)
    return shape.items[0] if isinstance(shape, E.Sequence) and shape.items else None


def batch_fields(change: ChangeSet, config: Config, rule: str) -> Iterator[Finding]:
    """A field that a batch allocates, and a method that goes through the fields of that shape but leaves it out, where
    the field or the method is new."""
    for old, unit in changed_python(change, config):
        for cls in unit.classes if old is not None else ():
            if old is None:
                continue
            methods = {f.name for f in old.functions if f.owner == cls.name}
            new = any(f.name not in methods for f in unit.functions if f.owner == cls.name)
            # Where it is allocated as it was, and no method is new, no field is new either.
            if not new and _allocating(cls, old) == _allocating(cls, unit):
                continue
            batch = _batch(cls, unit)
            if len(batch.uses) < LEAST_TOUCHED:
                continue
            before = {u.key for u in _batch(cls, old).uses}
            fresh = {u.key for u in batch.uses if u.key not in before} if before else set()
            for method in unit.functions:
                if method.owner != cls.name or _INIT.match(method.name):
                    continue
                added = method.name not in methods and bool(before)
                if fresh or added:
                    found = _unlisted(cls, batch, fresh, added, method, unit, rule)
                    yield from (finding for finding in found if method.clean)


def _allocating(cls: Class, unit: SourceFile) -> list[str]:
    """The source of the methods in which a class makes its fields."""
    inits = (f for f in unit.functions if f.owner == cls.name and _INIT.match(f.name))
    return [unit.text(f.start_line, f.end_line) for f in inits]


def _batch(cls: Class, unit: SourceFile) -> _Batch:
    found: dict[str, Use] = {}
    for function in unit.functions:
        if function.owner == cls.name and _INIT.match(function.name):
            for use in uses(function):
                if use.sets and use.holder == "self" and isinstance(use.value, E.Call):
                    found.setdefault(use.key, use)
    return _Batch(tuple(found.values()))


def _unlisted(
    cls: Class,
    batch: _Batch,
    fresh: set[str],
    added: bool,
    method: Function,
    unit: SourceFile,
    rule: str,
) -> Iterator[Finding]:
    text = unit.text(method.start_line, method.end_line)
    words = set(re.findall(r"\w+", text))
    shapes = batch.shapes
    touched = [u.key for u in batch.uses if u.key in words]
    if len(touched) < LEAST_TOUCHED:
        return
    left: list[str] = []
    for key, shape in shapes.items():
        group = [k for k, s in shapes.items() if s == shape and k not in fresh]
        covered = sum(k in words for k in group) / max(1, len(group))
        if key in words or len(group) < LEAST_GROUP:
            continue
        if key in fresh and not added:
            left += [key] if covered >= LEAST_COVERED else []
        elif added and covered >= 0.5 and _twin(key, batch, words) is not None:
            left.append(key)
    if left:
        use = next(u for u in batch.uses if u.key == left[0])
        beside = _twin(left[0], batch, words) or _above(left[0], batch, words)
        place = Location(unit.path, _line_of(beside, method, unit))
        at = Location(unit.path, use.line)
        yield _left_out(left, cls.name, method, place, at, unit, [beside] if beside else [], rule)


def _twin(key: str, batch: _Batch, words: set[str]) -> str | None:
    """The listed field that is allocated right beside `key` and whose name is part of it, or the other way round."""
    order = [u.key for u in batch.uses]
    place = order.index(key)
    for other in order[max(0, place - 1) : place + 2]:
        mine, theirs = set(key.split("_")), set(other.split("_"))
        if other != key and other in words and (mine <= theirs or theirs <= mine):
            return other
    return None


def _above(key: str, batch: _Batch, words: set[str]) -> str:
    order = [u.key for u in batch.uses]
    return next((k for k in reversed(order[: order.index(key)]) if k in words), "")


def _line_of(key: str, method: Function, unit: SourceFile) -> int:
    lines = range(method.start_line, method.end_line + 1)
    return next(
        (n for n in lines if key and re.search(rf"\b{key}\b", unit.lines[n - 1])), method.start_line
    )


def _left_out(
    left: list[str],
    cls: str,
    function: Function,
    place: Location,
    at: Location,
    unit: SourceFile,
    listed: list[str],
    rule: str,
) -> Finding:
    args = {"names": left, "type": cls, "function": function.qualname, "listed": listed, "at": at}
    return Finding(
        rule=rule,
        severity=Severity.QUESTION,
        confidence=Confidence.MEDIUM,
        location=place,
        message=Message("left-out", args),
        symbol=function.qualname,
        subject=" ".join(left),
        evidence=(Definition(left[0], at, cls, unit.lines[at.start_line - 1].strip()),),
    )
