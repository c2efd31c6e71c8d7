"""Which constructors run when an object is made: a class may leave out what it inherits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.domain.calls.classes import Classes, Place, methods_of, place_of
from checks.domain.calls.syntax_names import binds, binds_at_class_level
from checks.eval.interpreter.values import ClassRef
from checks.lang.ir.source_file import Function

_CALL_OF_INIT = re.compile(
    r"super\(\s*(?:(?P<after>\w+)\s*,\s*\w+\s*)?\)\.__init__\(|\b(?P<named>\w+)\.__init__\(\s*self"
)
_OWN_CALL = re.compile(r"\bself\.(\w+)\(")


@dataclass(frozen=True, slots=True)
class Initialisation:
    """The constructors of a class and what it inherits: those that run, and those left out."""

    run: tuple[ClassRef, ...]
    skipped: tuple[ClassRef, ...]

    def leaves_out(self, name: str, lineage: tuple[ClassRef, ...]) -> bool:
        """Whether only constructors that do not run set the attribute `name`."""
        if not any(binds(text, name) for ref in self.skipped for text in _init_texts(ref)):
            return False
        if any(binds_at_class_level(ref.unit.text_of(ref.cls), name) for ref in lineage):
            return False
        return not any(binds(text, name) for text in _texts_run(self.run, lineage))


def initialisation(ref: ClassRef, classes: Classes) -> Initialisation:
    """What runs when an object of the class `ref` is made."""
    lineage = classes.lineage(ref).classes
    running = _running(lineage, 0)
    later = _running_later(lineage)
    run = [owner for owner in lineage if place_of(owner) in running]
    with_init = [owner for owner in lineage if methods_of(owner, "__init__")]
    skipped = [owner for owner in with_init if place_of(owner) not in running | later]
    return Initialisation(tuple(run), tuple(skipped))


def _running(lineage: tuple[ClassRef, ...], start: int) -> set[Place]:
    """The classes whose constructor runs when that of `lineage[start]` or the next one does."""
    for number in range(start, len(lineage)):
        constructors = methods_of(lineage[number], "__init__")
        if constructors:
            running = {place_of(lineage[number])}
            for place in _called_next(constructors[0], number, lineage):
                running |= _running(lineage, place)
            return running
    return set()


def _running_later(lineage: tuple[ClassRef, ...]) -> set[Place]:
    """The classes whose constructor another method calls, when the object is already there."""
    running: set[Place] = set()
    for number, owner in enumerate(lineage):
        for method in owner.unit.functions:
            if method.owner == owner.cls.name and method.name != "__init__":
                for place in _called_next(method, number, lineage):
                    running |= _running(lineage, place)
    return running


def _called_next(method: Function, number: int, lineage: tuple[ClassRef, ...]) -> Iterator[int]:
    """Where in the lineage the constructors that this method calls are looked for."""
    names = [owner.cls.name for owner in lineage]
    for match in _CALL_OF_INIT.finditer(lineage[number].unit.text_of(method)):
        if match["named"]:
            if match["named"] in names[number + 1 :]:
                yield names.index(match["named"])
        elif match["after"] and match["after"] in names:
            yield names.index(match["after"]) + 1
        else:
            yield number + 1


def _init_texts(ref: ClassRef) -> list[str]:
    return [ref.unit.text_of(function) for function in methods_of(ref, "__init__")]


def _texts_run(run: tuple[ClassRef, ...], lineage: tuple[ClassRef, ...]) -> list[str]:
    """The code of the constructors that run, and of the methods that they call."""
    waiting = [text for ref in run for text in _init_texts(ref)]
    texts: list[str] = []
    seen: set[str] = set()
    while waiting:
        text = waiting.pop()
        texts.append(text)
        for name in sorted(set(_OWN_CALL.findall(text)) - seen):
            seen.add(name)
            for ref in lineage:
                waiting += [ref.unit.text_of(function) for function in methods_of(ref, name)]
    return texts
