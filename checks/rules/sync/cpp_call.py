"""A C++ call passes a number of arguments that no function of this name takes any more.

## What it does

Looks at the calls and launches that the change wrote in C++ and CUDA sources, and, for every
function whose parameters it altered or that it took away, at all its calls in the tree. Reports
those that fitted before and now fit no definition or declaration of that name.

## Why it matters

Hardware that no job of a pull request builds is found out by its users. PaddlePaddle/FastDeploy
keeps a copy of most helpers for each, and a call that was left behind does not compile there.

## Example

```cuda
int rows_of(int count, int width);      // the change added `width`

int rows = rows_of(count);              // another file: does not compile
```

## Known limits

Calls are compared by the plain name and the number of arguments alone: methods, calls through
pointers and macros, and names that a macro or a type has too, are left out, and so is a call that
did not fit before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.changed import changed_files, changed_functions
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Severity, Side
from checks.domain.cpp_functions import CppFunctions, arities_in, plain_name
from checks.domain.ops import calls_of
from checks.domain.source_search import units_at
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, guarded_statements

ID = "sync.cpp-call"

_PACK = re.compile(r"[\w)>]\s*\.\.\.")


@dataclass(frozen=True, slots=True)
class CppCall:
    """A call of the plain name `name` in a function of the head."""

    name: str
    call: E.Call
    function: Function
    unit: SourceFile


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """Each call once."""
    reported: set[tuple[str, int, str]] = set()
    for call in [*_written_calls(change, config), *_calls_left(change, config)]:
        place = call.unit.path, call.call.line, call.name
        if place not in reported and _fits_no_more(call, change):
            reported.add(place)
            yield _finding(call, change)


def _written_calls(change: ChangeSet, config: Config) -> Iterator[CppCall]:
    for changed in changed_functions(change, config):
        if changed.python or not changed.head.clean:
            continue
        for call in _calls_in(changed.head, changed.unit):
            if changed.touched(*_lines_of(call.call)):
                yield call


def _calls_left(change: ChangeSet, config: Config) -> Iterator[CppCall]:
    """The calls, anywhere in the product, of functions that take other arguments than before."""
    for name in sorted(_altered_names(change, config)):
        for unit in units_at(sorted(change.head.paths_containing(name, "cpp")), change):
            if config.is_test(unit.path):
                continue
            for function in unit.functions_naming(name):
                if function.clean:
                    yield from [c for c in _calls_in(function, unit) if c.name == name]


def _altered_names(change: ChangeSet, config: Config) -> set[str]:
    """The functions of changed files that take other numbers of arguments there than before."""
    names: set[str] = set()
    for unit, base_unit in changed_files(change, config, "cpp"):
        now, before = arities_in(unit), arities_in(base_unit) if base_unit is not None else {}
        names |= {name for name, arities in before.items() if now.get(name) != arities}
    return names


def _calls_in(function: Function, unit: SourceFile) -> Iterator[CppCall]:
    """The calls in a function of what is no variable or parameter of it."""
    own = {param.name for param in function.params} | set(_declared(function))
    for call, _ in calls_of(function.body):
        name = plain_name(call.func.id) if isinstance(call.func, E.Name) else ""
        if name and name not in own and not _has_unknown(call) and not _spreads(call, unit):
            yield CppCall(name, call, function, unit)


def _declared(function: Function) -> Iterator[str]:
    for guarded in guarded_statements(function.body):
        match guarded.stmt:
            case Assign(target=E.Name(id=name), declares=str()):
                yield name
            case _:
                pass


def _has_unknown(call: E.Call) -> bool:
    """Whether an argument may be several: what was not read, or a name that a macro has."""
    return any(
        isinstance(arg, E.Unknown) or (isinstance(arg, E.Name) and arg.id.isupper())
        for arg in call.args
    )


def _spreads(call: E.Call, unit: SourceFile) -> bool:
    """Whether an argument is a pack (`args...`), which is any number of values."""
    first, last = _lines_of(call)
    return any(_PACK.search(line) for line in unit.lines[first - 1 : last])


def _lines_of(call: E.Call) -> tuple[int, int]:
    lines = [part.line for part in E.walk(call) if part.line]
    return min(lines), max(lines)


def _fits_no_more(call: CppCall, change: ChangeSet) -> bool:
    now = CppFunctions.of_change(change).arities(call.name)
    if now is None or any(arity.takes(len(call.call.args)) for arity in now):
        return False
    if not now and _includes_more(call.unit, change):
        return False
    return _fitted_before(call, change)


def _includes_more(unit: SourceFile, change: ChangeSet) -> bool:
    """Whether the change wrote an `#include`: a library may define now what the tree did."""
    return any(
        change.touches(unit.path, number, number)
        for number, line in enumerate(unit.lines, 1)
        if line.lstrip().startswith("#include")
    )


def _fitted_before(call: CppCall, change: ChangeSet) -> bool:
    """Whether the function of the call made such a call before, and each was one that fitted."""
    before = CppFunctions.of_change(change, Side.BASE).arities(call.name)
    file = change.changed(call.unit.path)
    path = file.base_path if file is not None else call.unit.path
    unit = change.unit(path, Side.BASE) if path else None
    if not before or unit is None:
        return False
    functions = unit.functions_named.get(call.function.qualname, [])
    counts = [
        len(old.call.args)
        for function in functions
        for old in _calls_in(function, unit)
        if old.name == call.name
    ]
    return bool(counts) and all(any(one.takes(count) for one in before) for count in counts)


def _finding(call: CppCall, change: ChangeSet) -> Finding:
    arities = CppFunctions.of_change(change).arities(call.name) or frozenset()
    wanted = sorted({one.least for one in arities} | {one.most for one in arities})
    return Finding.at(
        ID,
        Location(call.unit.path, call.call.line),
        "unfit" if arities else "gone",
        severity=Severity.BUG,
        confidence=Confidence.HIGH,
        symbol=call.function.qualname,
        subject=f"{call.name} {len(call.call.args)}",
        name=call.name,
        given=len(call.call.args),
        wanted=", ".join(map(str, wanted)),
    )
