"""An attribute that only some kinds of an object have is read without asking for the kind.

## What it does

Finds new reads of `self.holder.x` where another class of the holder's family has no `x`, and where
every other read of it in the file asks for the kind first (`if self.method == "mtp"`).

## Why it matters

PaddlePaddle/FastDeploy#7464 read `self.proposer.model_inputs` whatever the method, which only the
MTP proposer has: `AttributeError` with every other method.

## Example

```python
if self.method == "mtp":
    send(self.proposer.model_inputs)    # as it was

send(self.proposer.model_inputs)        # new, whatever the method
```

## Known limits

The family of `self.proposer` is the class `Proposer` and those that extend it, by name. A function
that asks for the kind anywhere above the read, or that is only called after asking, is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Related, Severity
from checks.domain.ops import calls_of, statement_expressions
from checks.domain.source_search import changed_python_functions, units_at
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Class, Function, SourceFile
from checks.rules.sync._classes import attributes_of

ID = "sync.kind-only-attribute"

_CONDITION = re.compile(r"\b(if|and|hasattr|getattr|isinstance)\b")

# (attribute of `self`, constant it is compared with), in lower case: ("method", "mtp").
Question: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class HolderRead:
    """`self.holder.name` on `line`, under the conditions `guards`."""

    holder: str
    name: str
    line: int
    guards: tuple[E.Expr, ...]


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each new read that does not ask what all others ask."""
    for _, head, unit in changed_python_functions(change, config):
        if not head.owner:
            continue
        for read in _reads(head):
            if not change.touches(unit.path, read.line, read.line):
                continue
            questions = _questions_elsewhere(read, unit, change)
            if not questions or _asks(read, head, unit, questions):
                continue
            lacking = _kinds_without(read, change)
            if lacking:
                yield _finding(read, head, unit, questions, lacking)


def _reads(function: Function) -> Iterator[HolderRead]:
    for guarded, expressions in statement_expressions(function.body):
        for e in expressions:
            match e:
                case E.Attr(base=E.Attr(base=E.Name(id="self"), name=holder), name=name):
                    yield HolderRead(holder, name, e.line or guarded.stmt.line, guarded.guards)
                case _:
                    pass


def _questions_elsewhere(
    read: HolderRead, unit: SourceFile, change: ChangeSet
) -> dict[Question, int]:
    """What every older read of the attribute in the file asks first, with a line that asks it."""
    # Kept: a change may read one attribute in as many functions as the file has.
    return change.memo(
        (_questions_elsewhere, unit.path, read.holder, read.name),
        lambda: _common_questions(read, unit, change),
    )


def _common_questions(read: HolderRead, unit: SourceFile, change: ChangeSet) -> dict[Question, int]:
    common: dict[Question, int] | None = None
    for function in unit.functions_naming(read.name):
        for other in _reads(function):
            if (other.holder, other.name) != (read.holder, read.name):
                continue
            # What the change wrote is no witness for how the file asks.
            if change.touches(unit.path, other.line, other.line):
                continue
            questions = [q for guard in other.guards for q in _questions_in(guard)]
            if common is None:
                common = dict.fromkeys(questions, other.line)
            else:
                common = {q: line for q, line in common.items() if q in questions}
    return common or {}


def _questions_in(guard: E.Expr) -> Iterator[Question]:
    """(attribute of `self`, constant it is compared with) for each comparison of a condition."""
    for e in E.walk(guard):
        match e:
            case E.Binary(
                op="==" | "in", left=E.Attr(base=E.Name(id="self"), name=name), right=right
            ):
                for word in _constant_words(right):
                    yield name, word
            case _:
                pass


def _constant_words(value: E.Expr) -> Iterator[str]:
    """`mtp` for `"mtp"` and for `SpecMethod.MTP`."""
    for e in E.walk(value):
        match e:
            case E.Attr(name=word) | E.Const(value=str() as word):
                yield word.lower()
            case _:
                pass


def _asks(
    read: HolderRead, function: Function, unit: SourceFile, questions: dict[Question, int]
) -> bool:
    """Whether something above the read, its own line, or every call of the function asks too."""
    words = {word for question in questions for word in question}
    above = unit.text(function.start_line, read.line).lower()
    if any(word in above for word in words) or _CONDITION.search(unit.text(read.line)):
        return True
    asked_by_calls = [_words_asked(guards) for guards in _guards_of_calls(function, unit)]
    return bool(asked_by_calls) and all(words & asked for asked in asked_by_calls)


def _guards_of_calls(function: Function, unit: SourceFile) -> Iterator[tuple[E.Expr, ...]]:
    """The conditions around each call of the function in its file."""
    for caller in unit.functions_naming(function.name):
        for call, guards in calls_of(caller.body):
            if E.callee(call).split(".")[-1] == function.name:
                yield guards


def _words_asked(guards: tuple[E.Expr, ...]) -> set[str]:
    return {word for guard in guards for word in _constant_words(guard)}


def _kinds_without(read: HolderRead, change: ChangeSet) -> list[str]:
    """The kinds of the holder that lack the attribute.

    None where all do, or its base class may have it.
    """
    family = "".join(word.title() for word in read.holder.split("_"))
    paths = {hit.path for hit in change.head.find(family) if hit.path.endswith(".py")}
    bases: list[bool] = []
    kinds: list[tuple[str, bool]] = []
    for unit in units_at(sorted(paths), change):
        for cls in unit.classes:
            if cls.name == family:
                bases.append(_may_have(read.name, cls, unit))
            elif cls.bases == (family,):
                kinds.append((cls.name, _may_have(read.name, cls, unit)))
    if bases != [False]:
        return []
    lacking = sorted(name for name, may_have in kinds if not may_have)
    return lacking if len(lacking) < len(kinds) else []


def _may_have(name: str, cls: Class, unit: SourceFile) -> bool:
    answers_for_any_name = "__getattr" in unit.text_of(cls)
    return answers_for_any_name or name in attributes_of(cls, unit)


def _finding(
    read: HolderRead,
    function: Function,
    unit: SourceFile,
    questions: dict[Question, int],
    lacking: list[str],
) -> Finding:
    first = min(questions)
    subject = f"self.{first[0]}"
    asked_place = Location(unit.path, questions[first])
    holder = f"self.{read.holder}"
    args = {
        "holder": holder,
        "key": read.name,
        "kinds": lacking,
        "subject": subject,
        "at": asked_place,
    }
    return Finding(
        rule=ID,
        severity=Severity.QUESTION,
        confidence=Confidence.MEDIUM,
        location=Location(unit.path, read.line),
        message=Message("one-kind", args),
        symbol=function.qualname,
        subject=f"{holder}.{read.name}",
        related=(Related(asked_place, Message("asked-here", {"subject": subject})),),
    )
