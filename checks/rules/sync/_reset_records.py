"""New fields of a record, and functions that rewrite all its other fields one by one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Finding, Location
from checks.core.tree import word_regex
from checks.domain.keys import changed_python, product_files
from checks.lang.ir.source_file import Class, Function, SourceFile
from checks.rules.sync._classes import fields_of, is_record, object_name
from checks.rules.sync._reset_finding import make_finding
from checks.rules.sync._source import function_text, whole_word

# A function goes through a record when it sets this many of its fields, and names this share of
# them.
LEAST_FIELDS_SET = 3
LEAST_SHARE_NAMED = 0.8
_TYPES_WITHOUT_ROWS = frozenset({"object", "bool", "str", "int", "float"})


def find_record_functions(change: ChangeSet, config: Config, rule: str) -> Iterator[Finding]:
    """One finding for each function that rewrites a record but not the field which this change
    added.
    """
    for old_unit, unit in changed_python(change, config):
        if old_unit is None:
            continue
        old_classes = {cls.name: cls for cls in old_unit.classes if is_record(cls)}
        for cls in unit.classes:
            if cls.name not in old_classes or not is_record(cls):
                continue
            old_fields = fields_of(old_classes[cls.name], old_unit)
            new_fields = _new_fields(cls, unit, old_fields)
            if new_fields and len(old_fields) >= LEAST_FIELDS_SET:
                yield from _rewriters(cls, unit, set(old_fields), new_fields, change, config, rule)


def _new_fields(cls: Class, unit: SourceFile, old_fields: dict[str, int]) -> list[str]:
    """The fields that came, without those that hold one number, flag, word or handle: they have no
    order.
    """
    new_fields: list[str] = []
    for constant in unit.constants:
        if constant.owner != cls.name or constant.kind != "field" or constant.name in old_fields:
            continue
        if not _has_type_without_rows(constant.name, cls, unit):
            new_fields.append(constant.name)
    return new_fields


def _has_type_without_rows(name: str, cls: Class, unit: SourceFile) -> bool:
    for constant in unit.constants:
        if constant.owner == cls.name and constant.name == name:
            words = re.findall(r"\w+", constant.type)
            return bool(words) and words[-1] in _TYPES_WITHOUT_ROWS
    return False


def _rewriters(
    cls: Class,
    unit: SourceFile,
    old_fields: set[str],
    new_fields: list[str],
    change: ChangeSet,
    config: Config,
    rule: str,
) -> Iterator[Finding]:
    """The functions that take an object of the class and go through its old fields alone."""
    record = object_name(cls)
    for path in product_files(record, change, config):
        # Few files name enough fields; only those are parsed.
        data = change.head.read(path) or b""
        named = sum(f"{record}.{field}".encode() in data for field in old_fields)
        if named < max(LEAST_FIELDS_SET, LEAST_SHARE_NAMED * len(old_fields)):
            continue
        other = change.unit(path)
        if other is None:
            continue
        for function in other.functions:
            if record not in {p.name for p in function.params}:
                continue
            written = _fields_rewritten(record, old_fields, function, other)
            text = function_text(function, other)
            omitted = [field for field in new_fields if not whole_word(field).search(text)]
            if omitted and written:
                place = Location(path, function.start_line)
                line = fields_of(cls, unit)[omitted[0]]
                yield make_finding(omitted, written, function, place, cls, unit, line, rule)


def _fields_rewritten(
    record: str, fields: set[str], function: Function, unit: SourceFile
) -> list[str]:
    """The fields of `record` that `function` sets; empty where it does not go through all of
    them.
    """
    text = function_text(function, unit)
    named, written = 0, []
    for field in sorted(fields):
        access = word_regex(f"{record}.{field}")
        if re.search(rf"{access}\b", text):
            named += 1
        if re.search(rf"{access}(\.\w+)?\s*=[^=]", text):
            written.append(field)
    if len(written) < LEAST_FIELDS_SET or named < LEAST_SHARE_NAMED * len(fields):
        return []
    return written
