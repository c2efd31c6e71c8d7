"""What the new form of an alteration needs, and whether a sibling has it."""

from __future__ import annotations

import re

from checks.core.words import as_bytes, contains_word
from checks.domain.calls.names import bound_names
from checks.domain.copies.alterations import Alteration
from checks.domain.copies.effects import BUILTINS
from checks.domain.keys import asks_platform
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile

_KEY_IN_QUOTES = re.compile(r"([\"'])\w+\1")


def missing_names(alteration: Alteration, function: Function, unit: SourceFile) -> set[str]:
    """What the new form needs, the old one did not, and the sibling has nowhere.

    Attributes, keys (in quotes) and functions are looked for in the sibling's file, local variables
    in its function. Where the sibling is a function of the changed file itself, all are looked for
    there.
    """
    needed = _names_needed(alteration.new_expression()) - _names_needed(alteration.old_expression())
    if not needed:
        return needed
    function_source = unit.text_of(function)
    without_keys = _KEY_IN_QUOTES.sub("", function_source)
    is_same_file = unit.path == alteration.function.path
    file_source = function_source if is_same_file else "\n".join(unit.lines)
    local_names = bound_names(alteration.function) | {p.name for p in alteration.function.params}
    missing: set[str] = set()
    for name in needed:
        source = without_keys if name in local_names else file_source
        if not _stands_in(name, as_bytes(source)):
            missing.add(name)
    return missing


def _names_needed(form: E.Expr | None) -> set[str]:
    """The names that stand in a form.

    With the attributes of `self` and of what it holds, and with keys in quotes.
    """
    names: set[str] = set()
    if form is None:
        return names
    for e in E.walk(form):
        match e:
            case E.Attr(base=E.Name(id="self"), name=name):
                names.add(name)
            case E.Attr(base=E.Attr(base=E.Name(id="self"), name=holder), name=name):
                # A configuration is the same object on all hardware.
                if not holder.endswith("config"):
                    names.add(name)
            case E.Name(id=name) if name != "self":
                names.add(name)
            case E.Call(func=E.Attr(name=name)):
                names.add(name)
            case E.Index(indices=(E.Const(value=str() as key),)):
                names.add(repr(key))
            case _:
                pass
    return names


def _stands_in(name: str, source: bytes) -> bool:
    """Whether a name, or a key in its quotes, stands in the source."""
    if name[0] in "\"'":
        return any(as_bytes(f"{quote}{name[1:-1]}{quote}") in source for quote in "\"'")
    return has_word(source, name)


def has_word(source: bytes, word: str) -> bool:
    """Whether `word` stands in the source as a whole word; a builtin is everywhere."""
    return word in BUILTINS or contains_word(source, as_bytes(word))


def calls_something_else(alteration: Alteration, unit: SourceFile, sibling: SourceFile) -> bool:
    """Whether the new call, made in the sibling, would reach another function."""
    match alteration.kind, alteration.new.form:
        case "call", E.Call(func=E.Name(id=name)):
            # Another hardware's op of the same name.
            ours, theirs = _modules_of(name, unit), _modules_of(name, sibling)
            return bool(ours) and bool(theirs) and ours.isdisjoint(theirs)
        case _, E.Call(func=E.Attr(base=E.Name(id="self"), name=name)) as call:
            # Where the sibling's own method lacks a parameter, that has to come first.
            methods = sibling.named(name)
            return not all(_takes_arguments(m, call, alteration.added) for m in methods)
        case _:
            return False


def _modules_of(name: str, unit: SourceFile) -> set[str]:
    return {i.module for i in unit.imports if i.name and (i.alias or i.name) == name}


def _takes_arguments(method: Function, call: E.Call, keywords: tuple[str, ...]) -> bool:
    params = [p for p in method.params if p.name != "self"]
    if any(p.kind in ("args", "kwargs") for p in params):
        return True
    return len(call.args) <= len(params) and set(keywords) <= {p.name for p in params}


def asks_hardware(alteration: Alteration) -> bool:
    """Whether the old or the new form asks which hardware this is: `current_platform.is_cuda()`."""
    forms = [alteration.old_expression(), alteration.new_expression(), *alteration.new.guards]
    return any(form is not None and asks_platform((form,)) for form in forms)
