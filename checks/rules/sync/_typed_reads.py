"""Reads of an attribute from objects whose class is known, wherever they stand in the product."""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.code import is_ready_for
from checks.core.config import Config
from checks.core.tree import WordMatch
from checks.domain.calls.attributes import Attributes
from checks.domain.calls.classes import Classes, place_of
from checks.domain.calls.known_objects import class_of_object, named_class, reads_of_others
from checks.domain.calls.renamed_fields import renamed_fields
from checks.domain.keys import product_files
from checks.eval.interpreter.values import ClassRef
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import SourceFile

# An attribute that stands in more files than this is looked for in so many.
_MOST_FILES = 40


def reads_of_lost(name: str, ref: ClassRef, change: ChangeSet, config: Config) -> list[WordMatch]:
    """The lines that read `name`, which the change took out of the class, from its objects, those
    of its subclasses, or the class itself. Empty where anything may still give it to them."""
    if not _lacks(ref, name, change, config):
        return []
    family = {place_of(one) for one in (ref, *Classes.of_change(change).subclasses(ref))}
    reads: list[WordMatch] = []
    for path in product_files(name, change, config)[:_MOST_FILES]:
        unit = change.unit(path)
        if unit is None:
            continue
        for owner, line in _reads_in(unit, name, change):
            if place_of(owner) in family and _lacks(owner, name, change, config):
                reads.append(WordMatch(path, line, unit.text(line)))
    return reads


def _lacks(ref: ClassRef, name: str, change: ChangeSet, config: Config) -> bool:
    """Whether objects of the class have no `name` since the change."""
    attributes = Attributes.of_change(change)
    if attributes.certainly_lacks(ref, name, was_set=True):
        return True
    renamed = change.memo(renamed_fields, lambda: list(renamed_fields(change, config)))
    classes = [place_of(field.ref) for field in renamed if field.old == name]
    above = [place_of(owner) for owner in Classes.of_change(change).lineage(ref).classes]
    is_renamed = any(place in above for place in classes)
    return is_renamed and attributes.lacks_renamed(ref, name)


def _reads_in(unit: SourceFile, name: str, change: ChangeSet) -> Iterator[tuple[ClassRef, int]]:
    """The class from which each function of the file reads `name`, with the line."""
    for function in unit.functions:
        text = unit.text_of(function)
        if f".{name}" not in text or is_ready_for("AttributeError", text):
            continue
        for read, line, scope in reads_of_others(function, unit):
            if read.name != name or _is_given(read, unit):
                continue
            owner = named_class(read.base, scope, change)
            owner = owner or class_of_object(read.base, scope, change)
            if owner is not None:
                yield owner, line


def _is_given(read: E.Attr, unit: SourceFile) -> bool:
    """Whether a line of the file gives what it calls by the same name the attribute.

    sgl-project/sglang@32fa1e9cc took the scales out of a layer, and its quantization registers them
    as parameters of the layer anyway.
    """
    holder, name = E.dotted(read.base), re.escape(read.name)
    ways = [rf"\b(?:register_parameter|register_buffer|setattr)\([^)]*[\"']{name}[\"']"]
    if holder is not None:
        ways.append(rf"\b{re.escape(holder)}\.{name}\s*(?::[^=]+)?=(?!=)")
    given = re.compile("|".join(ways))
    return any(given.search(line) for line in unit.lines)
