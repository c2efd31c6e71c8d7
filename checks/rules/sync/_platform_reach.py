"""Whether some hardware could get to a call before the change, for all the names that it lacks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.domain.hardware_reach import topics
from checks.domain.ops import calls_of
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.rules.sync._platform_imports import PlatformImports
from checks.rules.sync._source import functions_matching, whole_word

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
        anywhere in the file. A new function is where its callers are; `below` are the functions
        between it and the call, which bring nobody there when they call it too.
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
        features = {topic for guard in site.guards for topic in topics(guard)}
        if not self.imports.by_name:
            return False
        for function in functions_matching(whole_word(*sorted(self.imports.by_name)), self.unit):
            for name, guards in self._calls_lacking(hardware, function):
                is_same_function = function.qualname == site.function.qualname
                is_same_choice = {_subject(guard) for guard in guards} <= choices
                if is_same_function and is_same_choice and name != site.name:
                    return True
                if any(topic in features for guard in guards for topic in topics(guard)):
                    return True
        return False

    def _calls_lacking(self, hardware: str, function: Function) -> Iterator[tuple[str, Guards]]:
        """(name, conditions) of the calls of `function` that `hardware` had no name for."""
        for call, guards in calls_of(function.body):
            if not isinstance(call.func, E.Name):
                continue
            if hardware in self.imports.hardware_without(call.func.id, guards):
                yield call.func.id, guards


def _calls_of_function(function: Function, unit: SourceFile) -> Iterator[tuple[Function, Guards]]:
    """(caller, conditions) of the calls of `function` in its file."""
    for caller in functions_matching(whole_word(function.name), unit):
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
