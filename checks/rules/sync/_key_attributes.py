"""Attributes that a class lost, and code that still reads them through the name its objects go by."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Severity, Step
from checks.core.tree import word_regex
from checks.domain.keys import changed_python, sets_somehow
from checks.lang.ir.source_file import Class, SourceFile
from checks.rules.sync._key_fields import fields_of

_DYNAMIC = ("__getattr", "__dict__", "setattr(self")
_SET = re.compile(rf"{word_regex('self')}\.(\w+)\b[^=\n]*=[^=]")


def lost(change: ChangeSet, config: Config, rule: str) -> Iterator[Finding]:
    """`forward_meta.x` where this change took `x` out of `ForwardMeta` and nothing gives any object an `x` now."""
    for old, unit in changed_python(change, config):
        before = {c.name: c for c in old.classes} if old is not None else {}
        for cls in unit.classes if old is not None else ():
            if (
                cls.name in before
                and old is not None
                and not _same(before[cls.name], old, cls, unit)
            ):
                if _dynamic(cls, unit):
                    continue
                now = attributes(cls, unit)
                for name in sorted(attributes(before[cls.name], old) - now):
                    yield from _still_read(name, cls, unit, now, change, config, rule)


def _dynamic(cls: Class, unit: SourceFile) -> bool:
    text = unit.text(cls.start_line, cls.end_line)
    return any(word in text for word in _DYNAMIC)


def _same(was: Class, old: SourceFile, cls: Class, unit: SourceFile) -> bool:
    """Whether the class reads as it did, and lost nothing of what goes by its name either."""
    texts = [u.text(c.start_line, c.end_line) for c, u in ((was, old), (cls, unit))]
    return texts[0] == texts[1] and _declared(was, old) <= _declared(cls, unit)


def _declared(cls: Class, unit: SourceFile) -> set[str]:
    return {*fields_of(cls, unit), *(f.name for f in unit.functions if f.owner == cls.name)}


def attributes(cls: Class, unit: SourceFile) -> set[str]:
    """What the class declares, defines and sets on `self`."""
    return _declared(cls, unit) | set(_SET.findall(unit.text(cls.start_line, cls.end_line)))


def object_name(cls: Class) -> str:
    """`forward_meta` for `ForwardMeta`."""
    return "_".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*", cls.name)).lower()


def _still_read(
    name: str,
    cls: Class,
    unit: SourceFile,
    now: set[str],
    change: ChangeSet,
    config: Config,
    rule: str,
) -> Iterator[Finding]:
    holder = object_name(cls)
    # The lines with the holder are the same for all that the class lost, and most are read nowhere.
    if "_" not in holder or not any(
        f"{holder}.{name}" in h.text for h in change.head.find(holder, "python")
    ):
        return
    hits = [
        h
        for h in change.head.find(name, "python")
        if h.path.endswith(".py") and not config.is_test(h.path)
    ]
    if any(sets_somehow(name, h.text) or f"def {name}" in h.text for h in hits):
        return
    read = re.compile(rf"^[^#]*\b{holder}\.{name}\b")
    reads = [
        h
        for h in hits
        if read.match(h.text) and "hasattr" not in h.text and "getattr" not in h.text
    ]
    if not reads:
        return
    first, other = reads[0], change.unit(reads[0].path)
    function = other.function_at(first.line) if other is not None else None
    if function is None:
        return
    near = difflib.get_close_matches(name, sorted(now), 1, 0.7)
    at = Location(unit.path, cls.start_line)
    args = {
        "name": name,
        "type": cls.name,
        "at": at,
        "near": near[0] if near else "",
        "more": len(reads) - 1,
    }
    yield Finding(
        rule=rule,
        severity=Severity.BUG,
        confidence=Confidence.HIGH,
        location=Location(first.path, first.line),
        message=Message("lost", args),
        symbol=function.qualname,
        subject=f"{cls.name} {name}",
        evidence=tuple(
            Step(Location(h.path, h.line), h.text.strip(), Message("read-here")) for h in reads
        ),
    )
