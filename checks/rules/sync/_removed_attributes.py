"""Attributes that a class lost, and code that reads them through the name its objects go by."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import replace

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, DerivationStep, Finding, Location, Message, Severity
from checks.core.tree import WordMatch
from checks.domain.calls.classes import Classes
from checks.domain.calls.foreign_bases import inherited_attributes
from checks.domain.keys import may_assign
from checks.domain.source_search import product_lines
from checks.eval.interpreter.values import ClassRef
from checks.lang.ir.source_file import Class, SourceFile
from checks.rules.sync._classes import (
    ChangedClass,
    attributes_of,
    changed_classes,
    class_place,
    fields_of,
    methods_of,
    object_name,
)
from checks.rules.sync._typed_reads import reads_of_lost

_TELLING_NAME = 12
_ANSWERS_FOR_ANY_NAME = ("__getattr", "__dict__", "setattr(self")


def find_read_attributes(change: ChangeSet, config: Config, rule: str) -> Iterator[Finding]:
    """`forward_meta.x` where `ForwardMeta` has no `x` any more.

    This change took it out, and nothing in the tree sets any `x` now, or another class does, from
    which the change reads it in other places.
    """
    for changed in changed_classes(change, config):
        cls, unit = changed.cls, changed.unit
        if _is_unchanged(changed) or _answers_for_any_name(cls, unit):
            continue
        old_attributes = attributes_of(changed.old, changed.old_unit)
        for name in sorted(old_attributes - attributes_of(cls, unit)):
            by_holder = _reads(name, cls, change, config)
            reads = by_holder or reads_of_lost(name, ClassRef(cls, unit), change, config)
            if not reads and name in methods_of(changed.old, changed.old_unit):
                reads = _calls_by_name(name, change, config)
            finding = _finding(name, reads, cls, unit, change, rule) if reads else None
            if finding is not None:
                yield finding if by_holder else _as_sure(finding, ClassRef(cls, unit), change)


def _as_sure(finding: Finding, ref: ClassRef, change: ChangeSet) -> Finding:
    """The finding, as a suggestion where a base of which nothing is known may have the attribute
    too."""
    foreign = (base for _, base in Classes.of_change(change).lineage(ref).foreign)
    if all(inherited_attributes(base) is not None for base in foreign):
        return finding
    return replace(finding, severity=Severity.SUGGESTION, confidence=Confidence.MEDIUM)


def _answers_for_any_name(cls: Class, unit: SourceFile) -> bool:
    text = unit.text_of(cls)
    return any(word in text for word in _ANSWERS_FOR_ANY_NAME)


def _is_unchanged(changed: ChangedClass) -> bool:
    """Whether the class reads as it did, and lost no field or method that goes by its name."""
    old, old_unit, cls, unit = changed.old, changed.old_unit, changed.cls, changed.unit
    if old_unit.text_of(old) != unit.text_of(cls):
        return False
    # Two classes of one name in a file share what is found by the name.
    return _declared_names(old, old_unit) <= _declared_names(cls, unit)


def _declared_names(cls: Class, unit: SourceFile) -> set[str]:
    return set(fields_of(cls, unit)) | methods_of(cls, unit)


def _reads(name: str, cls: Class, change: ChangeSet, config: Config) -> list[WordMatch]:
    """The lines that read the attribute from an object of the class.

    None where anything sets it.
    """
    holder = object_name(cls)
    # A name of one word (`request`) may be anything.
    if "_" not in holder:
        return []
    # Asked for the holder first: its lines are the same for all that the class lost, so that the
    # tree is searched once, and most of what is lost is read nowhere.
    if not any(f"{holder}.{name}" in line.text for line in change.head.find(holder, "python")):
        return []
    lines = product_lines(name, change, config)
    setting = [line for line in lines if may_assign(name, line.text) or f"def {name}" in line.text]
    if setting and not _has_moved(name, cls, setting, change):
        return []
    read = re.compile(rf"^[^#]*\b{holder}\.{name}\b")
    reads: list[WordMatch] = []
    for line in lines:
        # `hasattr(forward_meta, "x")` and its like are ready for objects without it.
        asks_first = "hasattr" in line.text or "getattr" in line.text
        if read.match(line.text) and not asks_first:
            reads.append(line)
    return reads


def _calls_by_name(name: str, change: ChangeSet, config: Config) -> list[WordMatch]:
    """The calls of a method of which nothing in the tree has the name any more.

    The name has to tell (`update_main_outputs`, no `get_device`), it was one method's, and the
    change has given up a part of the calls: the objects were of this class.
    """
    if len(name) < _TELLING_NAME or name.count("_") < 2:
        return []
    call = re.compile(rf"^[^#\"']*\.{name}\(")
    lines = product_lines(name, change, config)
    calls = [line for line in lines if call.match(line.text)]
    if len(calls) < len(lines):
        return []
    before = [line.text for line in change.base.find(name, "python")]
    were_called = len([text for text in before if call.match(text)])
    is_one_method = len([text for text in before if f"def {name}" in text]) == 1
    return calls if is_one_method and len(calls) < were_called else []


def _has_moved(name: str, cls: Class, setting: list[WordMatch], change: ChangeSet) -> bool:
    """Whether only another class sets the attribute now, and the change reads it from there.

    PaddlePaddle/FastDeploy@00a01ae02 moved `redundant_experts_num` from one configuration to
    another, and read it from its new place in most files.
    """
    if not all(_is_set_on_other(name, cls, line, change) for line in setting):
        return False
    read = re.compile(rf"\b{object_name(cls)}\.{name}\b")
    before = len([line for line in change.base.find(name, "python") if read.search(line.text)])
    now = len([line for line in change.head.find(name, "python") if read.search(line.text)])
    return now < before


def _is_set_on_other(name: str, cls: Class, line: WordMatch, change: ChangeSet) -> bool:
    """Whether a line sets the attribute on `self` of a class of another name, or declares it."""
    if not re.match(rf"\s+(?:self\.)?{name}\s*(?::[^=\n]+)?=(?!=)", line.text):
        return False
    unit = change.unit(line.path)
    owners = unit.classes if unit is not None else ()
    around = [owner for owner in owners if owner.start_line <= line.line <= owner.end_line]
    return bool(around) and not any(cls.name in (owner.name, *owner.bases) for owner in around)


def _finding(
    name: str, reads: list[WordMatch], cls: Class, unit: SourceFile, change: ChangeSet, rule: str
) -> Finding | None:
    """The finding at the first read; None where that stands in no function."""
    first = reads[0]
    reader = change.unit(first.path)
    function = reader.function_at(first.line) if reader is not None else None
    if function is None:
        return None
    similar = difflib.get_close_matches(name, sorted(attributes_of(cls, unit)), 1, 0.7)
    args = {
        "name": name,
        "type": cls.name,
        "at": class_place(cls, unit),
        "near": similar[0] if similar else "",
        "more": len(reads) - 1,
    }
    steps = [
        DerivationStep(Location(line.path, line.line), line.text.strip(), Message("read-here"))
        for line in reads
    ]
    return Finding(
        rule=rule,
        severity=Severity.BUG,
        confidence=Confidence.HIGH,
        location=Location(first.path, first.line),
        message=Message("lost", args),
        symbol=function.qualname,
        subject=f"{cls.name} {name}",
        evidence=tuple(steps),
    )
