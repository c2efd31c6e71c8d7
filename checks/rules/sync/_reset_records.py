"""New fields of a record, and functions that rewrite all its other fields one by one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Finding, Location
from checks.core.words import as_bytes, word_regex
from checks.domain.keys import product_files
from checks.domain.source_search import whole_word
from checks.lang.ir.source_file import Class, SourceFile
from checks.rules.sync._classes import ChangedClass, changed_classes, fields_of, object_name
from checks.rules.sync._reset_finding import make_finding

# A function goes through a record when it sets this many of its fields, and names this share of
# them.
LEAST_FIELDS_SET = 3
LEAST_SHARE_NAMED = 0.8
_TYPES_WITHOUT_ROWS = frozenset({"object", "bool", "str", "int", "float"})


def find_record_functions(change: ChangeSet, config: Config, rule: str) -> Iterator[Finding]:
    """One finding for each function that rewrites a record, but not the field that came."""
    for changed in changed_classes(change, config):
        if not changed.is_record:
            continue
        old_fields = set(fields_of(changed.old, changed.old_unit))
        new_fields = _new_fields(changed.cls, changed.unit, old_fields)
        if not new_fields or len(old_fields) < LEAST_FIELDS_SET:
            continue
        for path in _files_naming_fields(changed.cls, old_fields, change, config):
            other = change.unit(path)
            if other is not None:
                yield from _rewriters(changed, old_fields, new_fields, other, rule)


def _new_fields(cls: Class, unit: SourceFile, old_fields: set[str]) -> list[str]:
    """The fields that came, without those that hold one number, flag, word or handle.

    Those have no rows that could be in another order.
    """
    new_fields: list[str] = []
    for field in fields_of(cls, unit):
        if field not in old_fields and not _has_type_without_rows(field, cls, unit):
            new_fields.append(field)
    return new_fields


def _has_type_without_rows(name: str, cls: Class, unit: SourceFile) -> bool:
    for constant in unit.constants:
        if constant.owner == cls.name and constant.name == name:
            words = re.findall(r"\w+", constant.type)
            return bool(words) and words[-1] in _TYPES_WITHOUT_ROWS
    return False


def _files_naming_fields(
    cls: Class, fields: set[str], change: ChangeSet, config: Config
) -> Iterator[str]:
    """The files that name enough fields of an object of the class.

    Few do, and only those are parsed.
    """
    record = object_name(cls)
    least = max(LEAST_FIELDS_SET, LEAST_SHARE_NAMED * len(fields))
    for path in product_files(record, change, config):
        data = change.head.read(path) or b""
        named = [field for field in fields if as_bytes(f"{record}.{field}") in data]
        if len(named) >= least:
            yield path


def _rewriters(
    changed: ChangedClass,
    old_fields: set[str],
    new_fields: list[str],
    other: SourceFile,
    rule: str,
) -> Iterator[Finding]:
    """The functions of a file that go through the old fields of such an object, and only those."""
    cls, unit = changed.cls, changed.unit
    record = object_name(cls)
    for function in other.functions:
        if record not in {p.name for p in function.params}:
            continue
        text = other.text_of(function)
        # Where the function makes a new record without the field too, somebody else fills it.
        if re.search(rf"{word_regex(cls.name)}\(", text.partition(":\n")[2]):
            continue
        omitted = [field for field in new_fields if not whole_word(field).search(text)]
        written = _fields_rewritten(record, old_fields, text)
        if omitted and written:
            place = Location(other.path, function.start_line)
            line = fields_of(cls, unit)[omitted[0]]
            yield make_finding(omitted, written, function, place, cls, unit, line, rule)


def _fields_rewritten(record: str, fields: set[str], text: str) -> list[str]:
    """The fields of `record` that a function sets.

    Empty where it does not go through all of them.
    """
    named, written = 0, []
    for field in sorted(fields):
        access = word_regex(f"{record}.{field}")
        if re.search(rf"{access}\b", text):
            named += 1
        if re.search(rf"{access}(\.\w+)?\s*=[^=]", text):
            written.append(field)
    goes_through_all = named >= LEAST_SHARE_NAMED * len(fields)
    return written if goes_through_all and len(written) >= LEAST_FIELDS_SET else []
