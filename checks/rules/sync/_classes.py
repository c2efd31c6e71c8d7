"""What a Python class has: its fields, its attributes, and the name that its objects go by."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Definition, Location
from checks.core.words import word_regex
from checks.domain.keys import changed_python_files
from checks.domain.source_search import code_line
from checks.lang.ir.source_file import Class, SourceFile

_SELF_ASSIGNMENT = re.compile(rf"{word_regex('self')}\.(\w+)\b[^=\n]*=[^=]")


@dataclass(frozen=True, slots=True)
class ChangedClass:
    """A class of a changed file that is in both trees: `old` in `old_unit`, and `cls` in `unit`."""

    old: Class
    old_unit: SourceFile
    cls: Class
    unit: SourceFile

    @property
    def is_record(self) -> bool:
        """Whether the class was and is a data class or named tuple."""
        return is_record(self.old) and is_record(self.cls)


def changed_classes(change: ChangeSet, config: Config) -> Iterator[ChangedClass]:
    """The classes of changed Python files outside tests that are in both trees."""
    for old_unit, unit in changed_python_files(change, config):
        if old_unit is None:
            continue
        old_classes = {cls.name: cls for cls in old_unit.classes}
        for cls in unit.classes:
            if cls.name in old_classes:
                yield ChangedClass(old_classes[cls.name], old_unit, cls, unit)


def fields_of(cls: Class, unit: SourceFile) -> dict[str, int]:
    """The declared fields of a class, with their lines."""
    return {c.name: c.line for c in unit.constants_of(cls.name) if c.kind == "field"}


def is_record(cls: Class) -> bool:
    """Whether the class is a data class or a named tuple.

    Its fields are its constructor's parameters.
    """
    if any("dataclass" in decorator for decorator in cls.decorators):
        return True
    return any(base.endswith("NamedTuple") for base in cls.bases)


def methods_of(cls: Class, unit: SourceFile) -> set[str]:
    """The names of the functions that a class defines."""
    return {f.name for f in unit.methods_of(cls.name)}


def attributes_of(cls: Class, unit: SourceFile) -> set[str]:
    """What the class declares, defines and sets on `self`, and the members of an enumeration."""
    text = unit.text_of(cls)
    set_on_self = set(_SELF_ASSIGNMENT.findall(text))
    declared = {constant.name for constant in unit.constants_of(cls.name)}
    return set_on_self | declared | methods_of(cls, unit)


def object_name(cls: Class) -> str:
    """The name that objects of the class mostly go by: `forward_meta` for `ForwardMeta`."""
    return "_".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*", cls.name)).lower()


def class_place(cls: Class, unit: SourceFile) -> Location:
    return Location(unit.path, cls.start_line)


def class_definition(cls: Class, unit: SourceFile, members: list[str]) -> Definition:
    """The class as evidence, with those of its members that matter."""
    place = class_place(cls, unit)
    return Definition(cls.name, place, ", ".join(members), code_line(unit, cls.start_line))
