"""Reads of an attribute from objects whose class is known, wherever they stand in the product."""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.tree import WordMatch
from checks.domain.calls.attributes import Attributes
from checks.domain.calls.classes import Classes, place_of
from checks.domain.calls.known_objects import class_of_object, named_class, reads_of_others
from checks.domain.keys import product_files
from checks.eval.interpreter.values import ClassRef
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import SourceFile

# An attribute that stands in more files than this is looked for in so many.
_MOST_FILES = 40


def reads_of_lost(name: str, ref: ClassRef, change: ChangeSet, config: Config) -> list[WordMatch]:
    """The lines that read `name`, which the change took out of the class, from its objects, those
    of its subclasses, or the class itself. Empty where anything may still give it to them."""
    attributes = Attributes.of_change(change)
    if not attributes.certainly_lacks(ref, name, was_set=True):
        return []
    family = {place_of(one) for one in (ref, *Classes.of_change(change).subclasses(ref))}
    reads: list[WordMatch] = []
    for path in product_files(name, change, config)[:_MOST_FILES]:
        unit = change.unit(path)
        if unit is None:
            continue
        for owner, line in _reads_in(unit, name, change):
            lacks = attributes.certainly_lacks(owner, name, was_set=True)
            if place_of(owner) in family and lacks:
                reads.append(WordMatch(path, line, unit.text(line)))
    return reads


def _reads_in(unit: SourceFile, name: str, change: ChangeSet) -> Iterator[tuple[ClassRef, int]]:
    """The class from which each function of the file reads `name`, with the line."""
    for function in unit.functions:
        text = unit.text_of(function)
        if f".{name}" not in text or "AttributeError" in text:
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
