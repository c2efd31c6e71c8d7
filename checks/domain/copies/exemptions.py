"""Why a sibling that keeps the old form is right to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.domain.conditions import split_condition
from checks.domain.copies.alterations import Alteration
from checks.domain.copies.effects import Effect
from checks.domain.hardware_reach import FieldReaders
from checks.domain.keys import product_files
from checks.domain.ops import expressions_of
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, Raise, Stmt, guarded_statements

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


def nothing_reads_key(effect: Effect, hardware: str, change: ChangeSet, config: Config) -> bool:
    """Whether the sibling's hardware only fills what its `effect` is about: no code that it runs
    reads the key `k` of `inputs["k"] = ...`."""
    match effect.key:
        case E.Index(base=base, indices=(E.Const(value=str() as key),)):
            holder = _last_name(base)
        case _:
            return False
    for path in product_files(key, change, config):
        own = config.hardware_of(path)
        unit = change.unit(path) if own in ("", hardware) else None
        if unit is not None and _reads_key(holder, key, unit):
            return False
    return True


def _reads_key(holder: str, key: str, unit: SourceFile) -> bool:
    """Whether a file names `holder[key]` anywhere but in places that get a value."""
    for function in unit.functions_naming(key):
        for guarded in guarded_statements(function.body):
            stmt = guarded.stmt
            target = stmt.target if isinstance(stmt, Assign) else None
            for part in expressions_of(stmt):
                if part is not target and _names_key(holder, key, part):
                    return True
    return False


def _names_key(holder: str, key: str, expr: E.Expr) -> bool:
    for part in E.walk(expr):
        match part:
            case E.Index(base=base, indices=(E.Const(value=name),)) if name == key:
                if _last_name(base) == holder:
                    return True
            case _:
                pass
    return False


def _last_name(expr: E.Expr) -> str:
    return (E.dotted(expr) or "").rsplit(".", 1)[-1]


def places_of_other_kind(alterations: Iterable[Alteration]) -> set[E.Expr]:
    """The places that got a list where they got what a call made, or the other way round."""
    places: set[E.Expr] = set()
    for alteration in alterations:
        before, after, place = _forms_and_place(alteration)
        if before is None or after is None or place is None:
            continue
        if _is_list(before) and isinstance(after, E.Call):
            places.add(place)
        if _is_list(after) and isinstance(before, E.Call):
            places.add(place)
    return places


def _forms_and_place(
    alteration: Alteration,
) -> tuple[E.Expr | None, E.Expr | None, E.Expr | None]:
    key = alteration.new.key
    place = key if alteration.kind == "assign" and not isinstance(key, str) else None
    return alteration.old_expression(), alteration.new_expression(), place


def keeps_kind(
    alteration: Alteration, places: set[E.Expr], change: ChangeSet, config: Config
) -> bool:
    """Whether a sibling that keeps the old form only keeps one of `places` (which the changed file
    holds as another kind of value now) as it was: it writes and reads the place itself.

    Where the change wrote the name of the place in another file too, that file may need the new
    kind.
    """
    before, after, key = _forms_and_place(alteration)
    for place in places:
        is_read = _contains(before, place) and _contains(after, place)
        if key != place and not is_read:
            continue
        path = alteration.function.path
        if not _written_elsewhere(_target_name(place), path, change, config):
            return True
    return False


def _contains(form: E.Expr | None, place: E.Expr) -> bool:
    return form is not None and place in E.walk(form)


def _written_elsewhere(name: str, path: str, change: ChangeSet, config: Config) -> bool:
    """Whether the change wrote `name` in another file of the product than `path`."""
    for file in change.files:
        unit = change.head_unit(file)
        if unit is None or file.path == path or config.is_test(file.path):
            continue
        if any(name in unit.text(line) for line in file.head_lines()):
            return True
    return False


def _is_list(value: E.Expr) -> bool:
    match value:
        case E.Sequence():
            return True
        case E.Binary(op="*", left=left, right=right):
            return isinstance(left, E.Sequence) or isinstance(right, E.Sequence)
        case _:
            return False


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
        owner = E.callee(call)
        return all(
            readers.is_field_unread(keyword, owner, hardware) for keyword in alteration.added
        )
    target = readers.targets.of(call, function, unit)
    if target is None:
        return False
    return all(
        readers.is_parameter_unread(target, keyword, hardware) for keyword in alteration.added
    )


def is_refused(effect: Effect, function: Function, unit: SourceFile) -> bool:
    """Whether the class of the sibling raises `NotImplementedError` over what has to hold for it
    to come there.

    PaddlePaddle/FastDeploy's runner for GCU has the branch of the MTP proposer from the GPU's, and
    its constructor refuses that proposer.
    """
    wanted = _facts(effect.guards)
    for other in unit.functions:
        if not wanted or other.owner != function.owner:
            continue
        for guarded in guarded_statements(other.body):
            facts = _facts(guarded.guards)
            if facts and facts <= wanted and _is_not_implemented(guarded.stmt):
                return True
    return False


def _facts(guards: Iterable[E.Expr]) -> set[E.Expr]:
    """What has to be so under these conditions, without what must not; `x in ["a"]` says what
    `x == "a"` does."""
    facts: set[E.Expr] = set()
    for guard in guards:
        for part, holds in split_condition(guard, holds=True):
            match part:
                case E.Binary(op="in", left=left, right=E.Sequence(items=(only,))) if holds:
                    facts.add(E.Binary("==", left, only))
                case E.Binary(op="!=" | "not-in"):
                    pass
                case _ if holds:
                    facts.add(part)
    return facts


def _is_not_implemented(stmt: Stmt) -> bool:
    if not isinstance(stmt, Raise) or stmt.value is None:
        return False
    return any(
        isinstance(part, E.Name) and part.id == "NotImplementedError" for part in E.walk(stmt.value)
    )


def own_code_reads_removed(alteration: Alteration, hardware: str, readers: FieldReaders) -> bool:
    """Whether the keywords that went are fields that the sibling's hardware goes on reading."""
    call = alteration.old.form
    if not alteration.removed or alteration.added or not isinstance(call, E.Call):
        return False
    if not E.callee(call)[:1].isupper():
        return False
    owner = E.callee(call)
    return any(
        readers.reads_field_itself(keyword, owner, hardware) for keyword in alteration.removed
    )


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
