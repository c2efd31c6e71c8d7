"""Whether some hardware could get to a call before the change, for all the names that it lacks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.domain.hardware_reach import switch_words
from checks.domain.ops import calls_of
from checks.domain.source_search import functions_matching, whole_word
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.rules.sync._platform_imports import PlatformImports

Guards = tuple[E.Expr, ...]


@dataclass(frozen=True, slots=True)
class CallOnAllHardware:
    """A call of `name` in `function`, under conditions that do not ask for the hardware."""

    name: str
    guards: Guards
    function: Function
    unit: SourceFile


@dataclass(frozen=True, slots=True)
class FileBefore:
    """A file as it was, with the names that it bound on some hardware only."""

    unit: SourceFile
    imports: PlatformImports

    def kept_away(
        self, hardware: str, site: CallOnAllHardware, below: tuple[str, ...] = ()
    ) -> bool:
        """Whether `hardware` did not get to the call before: on the way, it lacked another name.

        That is in the same function and another arm of the same choice, or for the same feature
        anywhere in the file; or its class called the same name, or one that the hardware lacks
        whatever comes. A new function is where its callers are; `below` are the functions between
        it and the call, which bring nobody there when they call it too.
        """
        if self._lacked_other_name(hardware, site):
            return True
        if self.unit.named(site.function.name):
            return False
        callers = list(_calls_of_function(site.function, site.unit))
        way = (*below, site.function.qualname)
        for caller, guards in callers:
            if caller.qualname in way:
                continue
            caller_site = CallOnAllHardware(site.name, guards, caller, site.unit)
            if not self.kept_away(hardware, caller_site, way):
                return False
        return bool(callers)

    def _lacked_other_name(self, hardware: str, site: CallOnAllHardware) -> bool:
        choices = {_subject(guard) for guard in site.guards}
        features = _topics_of(site.guards)
        for lacking in self._calls_lacking(hardware):
            if features & _topics_of(lacking.guards):
                return True
            is_same_class = _outermost(lacking.function) == _outermost(site.function) != ""
            if is_same_class and (lacking.name == site.name or not lacking.guards):
                return True
            if lacking.function.qualname != site.function.qualname or lacking.name == site.name:
                continue
            if {_subject(guard) for guard in lacking.guards} <= choices:
                return True
        return False

    def _calls_lacking(self, hardware: str) -> Iterator[CallOnAllHardware]:
        """The calls of the file that `hardware` had no name for."""
        if not self.imports.by_name:
            return
        any_name = whole_word(*sorted(self.imports.by_name))
        for function in functions_matching(any_name, self.unit):
            for call, guards in calls_of(function.body):
                name = call.func.id if isinstance(call.func, E.Name) else ""
                if hardware in self.imports.hardware_without(name, guards):
                    yield CallOnAllHardware(name, guards, function, self.unit)


def _outermost(function: Function) -> str:
    """The class, or the function, that a method or a nested function is in; empty for any other."""
    outer, is_inside, _ = function.qualname.partition(".")
    return outer if is_inside else ""


def _topics_of(guards: Guards) -> set[str]:
    """The words of the names in the conditions: what feature they switch."""
    return {topic for guard in guards for topic in switch_words(guard)}


def _calls_of_function(function: Function, unit: SourceFile) -> Iterator[tuple[Function, Guards]]:
    """(caller, conditions) of the calls of `function` in its file."""
    for caller in unit.functions_naming(function.name):
        for call, guards in calls_of(caller.body):
            if E.callee(call) == function.name:
                yield caller, guards


def _subject(guard: E.Expr) -> E.Expr:
    """What a condition is about: `method` for `method == "a"` and for `method != "b"`."""
    match guard:
        case E.Unary(op="not", operand=operand):
            return _subject(operand)
        case E.Binary(op="==" | "!=" | "in" | "not-in", left=left):
            return left
        case _:
            return guard
