"""Fields that a batch allocates, and methods that go through fields of that shape but not all of
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Finding, Location
from checks.domain.keys import KeyUse, key_uses
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Class, Function, SourceFile
from checks.rules.sync._classes import ChangedClass, changed_classes, methods_of
from checks.rules.sync._reset_finding import make_finding

# A method goes through the batch when it names this many fields. A field may be missed in it where
# this many others have its shape, and the method names this share of them.
LEAST_FIELDS_NAMED = 8
LEAST_SAME_SHAPE = 5
LEAST_SHARE_NAMED = 0.85
# A method that is new is asked about an old field already where it names half of them, if it also
# names the field's neighbour.
LEAST_SHARE_NAMED_BY_NEW_METHOD = 0.5
_INIT = re.compile(r"_*init")


@dataclass(frozen=True, slots=True)
class BatchFields:
    """The fields that a class allocates in its `__init__` or `_init_*`, in order."""

    allocations: dict[str, KeyUse]

    def names(self) -> list[str]:
        """The fields in the order in which they are allocated."""
        return list(self.allocations)

    def rows(self) -> dict[str, E.Expr]:
        """The first dimension of each field that has one: `n` for `zeros([n, 1])`."""
        rows: dict[str, E.Expr] = {}
        for key, use in self.allocations.items():
            first = _first_dimension(use.value)
            if first is not None:
                rows[key] = first
        return rows

    def twin(self, key: str, words: set[str]) -> str | None:
        """The field of `words` allocated right beside `key` whose words hold those of `key`, or
        lie in them.

        `preempted` is the twin of `last_preempted`.
        """
        keys = self.names()
        place = keys.index(key)
        own_words = set(key.split("_"))
        for neighbour in keys[max(0, place - 1) : place + 2]:
            if neighbour == key or neighbour not in words:
                continue
            other_words = set(neighbour.split("_"))
            if own_words <= other_words or other_words <= own_words:
                return neighbour
        return None

    def nearest_above(self, key: str, words: set[str]) -> str:
        """The last field of `words` that is allocated before `key`, or empty."""
        keys = self.names()
        for earlier in reversed(keys[: keys.index(key)]):
            if earlier in words:
                return earlier
        return ""


def find_batch_methods(change: ChangeSet, config: Config, rule: str) -> Iterator[Finding]:
    """One finding for each method that leaves out fields, where a field or the method is new."""
    for changed in changed_classes(change, config):
        cls, unit = changed.cls, changed.unit
        if not _may_leave_out(changed):
            continue
        batch = _batch_fields(cls, unit)
        old_keys = set(_batch_fields(changed.old, changed.old_unit).allocations)
        if len(batch.allocations) < LEAST_FIELDS_NAMED or not old_keys:
            continue
        new_keys = set(batch.allocations) - old_keys
        old_methods = methods_of(changed.old, changed.old_unit)
        for method in unit.methods_of(cls.name):
            if _INIT.match(method.name):
                continue
            is_new = method.name not in old_methods
            omitted = _omitted_keys(batch, new_keys, is_new, method, unit)
            if omitted and method.clean:
                yield _finding(omitted, batch, method, cls, unit, rule)


def _may_leave_out(changed: ChangedClass) -> bool:
    """Whether there is a new method, or there may be a new field.

    A field may be new where the methods that allocate them read otherwise than before.
    """
    new_methods = methods_of(changed.cls, changed.unit)
    if new_methods - methods_of(changed.old, changed.old_unit):
        return True
    return _init_texts(changed.old, changed.old_unit) != _init_texts(changed.cls, changed.unit)


def _init_methods(cls: Class, unit: SourceFile) -> list[Function]:
    return [f for f in unit.methods_of(cls.name) if _INIT.match(f.name)]


def _init_texts(cls: Class, unit: SourceFile) -> list[str]:
    return [unit.text_of(method) for method in _init_methods(cls, unit)]


def _batch_fields(cls: Class, unit: SourceFile) -> BatchFields:
    allocations: dict[str, KeyUse] = {}
    for method in _init_methods(cls, unit):
        for use in key_uses(method):
            if use.sets and use.holder == "self" and isinstance(use.value, E.Call):
                # The first allocation counts: later ones replace an array by one of its shape.
                allocations.setdefault(use.key, use)
    return BatchFields(allocations)


def _first_dimension(value: E.Expr | None) -> E.Expr | None:
    """`n` of `full([n, 1], 0)`, `full(shape=[n], ...)`, `zeros([n, 1]).cpu()`."""
    # Methods without arguments (`.cpu()`, `.pin_memory()`) do not alter the shape.
    while isinstance(value, E.Call) and isinstance(value.func, E.Attr):
        if value.args or value.keywords:
            break
        value = value.func.base
    if not isinstance(value, E.Call):
        return None
    shape = dict(value.keywords).get("shape")
    if shape is None and value.args:
        shape = value.args[0]
    if isinstance(shape, E.Sequence) and shape.items:
        return shape.items[0]
    return None


def _omitted_keys(
    batch: BatchFields, new_keys: set[str], is_new_method: bool, method: Function, unit: SourceFile
) -> list[str]:
    """The fields that `method` should name as well, by how many of their shape it names."""
    if not new_keys and not is_new_method:
        return []
    words = set(re.findall(r"\w+", unit.text_of(method)))
    named = [key for key in batch.names() if key in words]
    if len(named) < LEAST_FIELDS_NAMED:
        return []
    rows = batch.rows()
    omitted: list[str] = []
    for key in rows:
        share = _share_of_same_shape(key, rows, new_keys, words)
        if key in words or share is None:
            continue
        if is_new_method:
            has_twin = batch.twin(key, words) is not None
            is_omitted = has_twin and share >= LEAST_SHARE_NAMED_BY_NEW_METHOD
        else:
            is_omitted = key in new_keys and share >= LEAST_SHARE_NAMED
        if is_omitted:
            omitted.append(key)
    return omitted


def _share_of_same_shape(
    key: str, rows: dict[str, E.Expr], new_keys: set[str], words: set[str]
) -> float | None:
    """How many of the older fields with as many rows stand in `words`.

    None where they are too few.
    """
    same_shape = [k for k in rows if rows[k] == rows[key] and k not in new_keys]
    if len(same_shape) < LEAST_SAME_SHAPE:
        return None
    named = [k for k in same_shape if k in words]
    return len(named) / len(same_shape)


def _finding(
    omitted: list[str],
    batch: BatchFields,
    method: Function,
    cls: Class,
    unit: SourceFile,
    rule: str,
) -> Finding:
    """Reported at the line of the method that names the field beside the first omitted one."""
    words = set(re.findall(r"\w+", unit.text_of(method)))
    first = omitted[0]
    neighbour = batch.twin(first, words) or batch.nearest_above(first, words)
    listed = [neighbour] if neighbour else []
    place = Location(unit.path, _line_naming(neighbour, method, unit))
    field_line = batch.allocations[first].line
    return make_finding(omitted, listed, method, place, cls, unit, field_line, rule)


def _line_naming(word: str, method: Function, unit: SourceFile) -> int:
    """The first line of the method with `word`, else its first line."""
    if word:
        for line in range(method.start_line, method.end_line + 1):
            if re.search(rf"\b{word}\b", unit.lines[line - 1]):
                return line
    return method.start_line
