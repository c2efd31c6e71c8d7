"""Why a sibling that keeps the old form is right to: what makes a difference that needs nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from checks.core.change import ChangeSet
from checks.domain.hardware_reach import Readers
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, guarded_statements
from checks.rules.sync._effects import Alteration

_SET = re.compile(r"\[[\"'](\w+)[\"']\]\s*=[^=]")


def never_set(alteration: Alteration, unit: SourceFile, sibling: SourceFile) -> list[str]:
    """The keys that the altered part needs, where the changed file fills them and the sibling's fills none of them."""
    keys = {*_keys(alteration)}
    ours, theirs = (
        _set_in(u.text(1, len(u.lines))) if keys else frozenset() for u in (unit, sibling)
    )
    return sorted(keys & ours) if ours & theirs and not keys & theirs else []


@lru_cache(16)
def _set_in(text: str) -> frozenset[str]:
    """The keys that get a value; the same few files are asked about for one alteration after another."""
    return frozenset(_SET.findall(text))


def adapted(alteration: Alteration, function: Function, change: ChangeSet) -> int:
    """The line of the sibling's function on which this change gave what the old form reads another value, or 0."""
    old, new = alteration.old.form, alteration.new.form
    if isinstance(old, tuple) or isinstance(new, tuple):
        return 0
    dropped = {*_places(old)} - {*_places(new)}
    for guarded in guarded_statements(function.body):
        stmt = guarded.stmt
        if not isinstance(stmt, Assign) or _label(stmt.target) not in dropped:
            continue
        if change.touches(function.path, stmt.line, stmt.end_line):
            return stmt.line
    return 0


def unread(
    alteration: Alteration,
    call: E.Call,
    hardware: str,
    readers: Readers,
    at: tuple[Function, SourceFile],
) -> bool:
    """Whether nothing that the sibling's hardware runs reads the keywords that came."""
    if not alteration.gained or alteration.lost or not hardware:
        return False
    if E.callee(call)[:1].isupper():
        return all(readers.field_unread(k, hardware) for k in alteration.gained)
    target = readers.targets.of(call, *at)
    return target is not None and all(
        readers.param_unread(target, k, hardware) for k in alteration.gained
    )


def may_be_none(alteration: Alteration) -> bool:
    """Whether a keyword that came is None unless something is switched on: who does not pass it has it off."""
    new = alteration.new.form
    values = (
        [v for k, v in new.keywords if k in alteration.gained] if isinstance(new, E.Call) else []
    )
    return any(isinstance(v, E.Ternary) and E.Const(None) in (v.then, v.orelse) for v in values)


def still_read(alteration: Alteration, hardware: str, readers: Readers) -> bool:
    """Whether the keywords that went are fields which the sibling's own hardware goes on reading."""
    call = alteration.old.form
    if (
        not alteration.lost
        or alteration.gained
        or not isinstance(call, E.Call)
        or not E.callee(call)[:1].isupper()
    ):
        return False
    return any(readers.own_reads(k, hardware) for k in alteration.lost)


def _keys(alteration: Alteration) -> Iterator[str]:
    """The keys that the new form reads; of a call with keywords, in those that came or changed."""
    form, words = alteration.new.form, {*alteration.gained, *alteration.altered}
    parts = (
        [v for k, v in form.keywords if k in words]
        if isinstance(form, E.Call) and words
        else [form]
    )
    for e in (e for part in parts if not isinstance(part, tuple) for e in E.walk(part)):
        match e:
            case E.Index(indices=(E.Const(value=str() as key),)):
                yield key
            case _:
                pass


def _label(target: E.Expr) -> str:
    match target:
        case E.Index(indices=(E.Const(value=str() as key),)):
            return key
        case E.Index(base=base):
            return _label(base)
        case E.Attr(name=name) | E.Name(id=name):
            return name
        case _:
            return ""


def _places(form: E.Expr) -> Iterator[str]:
    """The attributes, keys and names that stand in `form`."""
    for e in E.walk(form):
        match e:
            case E.Attr(name=name) | E.Name(id=name):
                yield name
            case E.Const(value=str() as word):
                yield word
            case _:
                pass
