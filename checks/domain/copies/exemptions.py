"""Why a sibling that keeps the old form is right to."""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.domain.copies.alterations import Alteration
from checks.domain.hardware_reach import FieldReaders
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, guarded_statements

_KEY_ASSIGNMENT = re.compile(r"\[[\"'](\w+)[\"']\]\s*=[^=]")


def never_sets_keys(alteration: Alteration, unit: SourceFile, sibling: SourceFile) -> bool:
    """Whether the altered part needs keys that the changed file sets and the sibling sets none of.

    Where the two set no key in common, the sibling's dict is filled elsewhere, and this says
    nothing.
    """
    needed = set(_keys_read(alteration))
    if not needed:
        return False
    ours, theirs = _keys_set_in(unit), _keys_set_in(sibling)
    return bool(ours & theirs) and bool(needed & ours) and not needed & theirs


def _keys_set_in(unit: SourceFile) -> frozenset[str]:
    # The same few files are asked about for one alteration after another.
    return unit.memo(
        _keys_set_in, lambda: frozenset(_KEY_ASSIGNMENT.findall("\n".join(unit.lines)))
    )


def _keys_read(alteration: Alteration) -> Iterator[str]:
    """The keys that the new form reads; of a call, in the keywords that came or changed."""
    form = alteration.new_expression()
    if form is None:
        return
    keywords = {*alteration.added, *alteration.changed}
    parts = [form]
    if isinstance(form, E.Call) and keywords:
        parts = [value for keyword, value in form.keywords if keyword in keywords]
    for part in parts:
        for e in E.walk(part):
            match e:
                case E.Index(indices=(E.Const(value=str() as key),)):
                    yield key
                case _:
                    pass


def adapted_line(alteration: Alteration, function: Function, change: ChangeSet) -> int:
    """The line of the sibling's function on which this change itself gave another value to what the
    old form reads and the new one does not; 0 where there is none.
    """
    old, new = alteration.old_expression(), alteration.new_expression()
    if old is None or new is None:
        return 0
    dropped = _place_names(old) - _place_names(new)
    for guarded in guarded_statements(function.body):
        stmt = guarded.stmt
        if not isinstance(stmt, Assign) or _target_name(stmt.target) not in dropped:
            continue
        if change.touches(function.path, stmt.line, stmt.end_line):
            return stmt.line
    return 0


def _place_names(form: E.Expr) -> set[str]:
    """The attributes, keys and names that stand in `form`."""
    names: set[str] = set()
    for e in E.walk(form):
        match e:
            case E.Attr(name=name) | E.Name(id=name):
                names.add(name)
            case E.Const(value=str() as word):
                names.add(word)
            case _:
                pass
    return names


def _target_name(target: E.Expr) -> str:
    """The key, attribute or name that an assignment is to; empty for anything else."""
    match target:
        case E.Index(indices=(E.Const(value=str() as key),)):
            return key
        case E.Index(base=base):
            return _target_name(base)
        case E.Attr(name=name) | E.Name(id=name):
            return name
        case _:
            return ""


def nothing_reads_added(
    alteration: Alteration,
    call: E.Call,
    function: Function,
    unit: SourceFile,
    hardware: str,
    readers: FieldReaders,
) -> bool:
    """Whether nothing that the sibling's hardware runs reads the keywords that came.

    `call` is the sibling's, in `function` of `unit`.
    """
    if not alteration.only_adds or not hardware:
        return False
    # A class keeps its arguments as fields; a function uses its parameters itself.
    if E.callee(call)[:1].isupper():
        return all(readers.is_field_unread(keyword, hardware) for keyword in alteration.added)
    target = readers.targets.of(call, function, unit)
    if target is None:
        return False
    return all(
        readers.is_parameter_unread(target, keyword, hardware) for keyword in alteration.added
    )


def own_code_reads_removed(alteration: Alteration, hardware: str, readers: FieldReaders) -> bool:
    """Whether the keywords that went are fields that the sibling's hardware goes on reading."""
    call = alteration.old.form
    if not alteration.removed or alteration.added or not isinstance(call, E.Call):
        return False
    if not E.callee(call)[:1].isupper():
        return False
    return any(readers.reads_field_itself(keyword, hardware) for keyword in alteration.removed)


def is_none_when_off(alteration: Alteration) -> bool:
    """Whether a keyword that came is None unless something is switched on.

    Who does not pass it has that switched off.
    """
    call = alteration.new.form
    if not isinstance(call, E.Call):
        return False
    for keyword, value in call.keywords:
        if keyword not in alteration.added or not isinstance(value, E.Ternary):
            continue
        if E.Const(None) in (value.then, value.orelse):
            return True
    return False
