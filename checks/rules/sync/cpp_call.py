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

Calls are compared by the plain name and the number of arguments alone: calls through pointers to
functions and macros, and names that a macro or a type has too, are left out, and so is a call that
did not fit before. A method is compared where the class of the object is written beside it, as the
type of a parameter, a variable or a member, and where that class declares it itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.changed import changed_files, changed_functions
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Severity, Side
from checks.domain.cpp_functions import Arity, CppFunctions, arities_in, plain_name
from checks.domain.cpp_methods import CppMethods, methods_in
from checks.domain.ops import calls_of
from checks.domain.source_search import units_at
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, guarded_statements

ID = "sync.cpp-call"

_PACK = re.compile(r"[\w)>]\s*\.\.\.")


@dataclass(frozen=True, slots=True)
class CppCall:
    """A call of the plain name `name` in a function of the head; of a method of the class `owner`,
    where there is one."""

    name: str
    call: E.Call
    function: Function
    unit: SourceFile
    owner: str = ""


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
        for call, _ in calls_of(changed.head.body):
            if changed.touched(*_lines_of(call)):
                yield from _told(call, changed.head, changed.unit, change)


def _calls_left(change: ChangeSet, config: Config) -> Iterator[CppCall]:
    """The calls, anywhere in the product, of functions that take other arguments than before."""
    for name in sorted(_altered_names(change, config)):
        for unit in units_at(sorted(change.head.paths_containing(name, "cpp")), change):
            if config.is_test(unit.path):
                continue
            for function in unit.functions_naming(name):
                if function.clean:
                    yield from _calls_of(name, function, unit, change)


def _altered_names(change: ChangeSet, config: Config) -> set[str]:
    """The functions and methods of changed files that take other numbers of arguments there than
    before."""
    names: set[str] = set()
    for unit, base_unit in changed_files(change, config, "cpp"):
        if base_unit is None:
            continue
        now, before = arities_in(unit), arities_in(base_unit)
        names |= {name for name, arities in before.items() if now.get(name) != arities}
        methods, old_methods = methods_in(unit), methods_in(base_unit)
        names |= {key[1] for key, arities in old_methods.items() if methods.get(key) != arities}
    return names


def _calls_of(
    name: str,
    function: Function,
    unit: SourceFile,
    change: ChangeSet,
    side: Side = Side.HEAD,
) -> Iterator[CppCall]:
    """The calls of a plain name in a function."""
    for call, _ in calls_of(function.body):
        if plain_name(E.callee(call)) == name:
            yield from _told(call, function, unit, change, side)


def _told(
    call: E.Call,
    function: Function,
    unit: SourceFile,
    change: ChangeSet,
    side: Side = Side.HEAD,
) -> Iterator[CppCall]:
    """What is called: a method of a known class, or what is no variable or parameter of the
    function; nothing for any other."""
    name = plain_name(E.callee(call))
    if not name or _has_unknown(call) or _spreads(call, unit):
        return
    owner = CppMethods.of_change(change, side).receiver(call, function)
    own = {param.name for param in function.params} | set(_declared(function))
    if owner or (isinstance(call.func, E.Name) and name not in own):
        yield CppCall(name, call, function, unit, owner)


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
    now = _arities(call, change, Side.HEAD)
    if now is None or any(arity.takes(len(call.call.args)) for arity in now):
        return False
    if not now and _includes_more(call.unit, change):
        return False
    return _fitted_before(call, change)


def _arities(call: CppCall, change: ChangeSet, side: Side) -> frozenset[Arity] | None:
    """What goes by the name on one side takes; None where that is not known."""
    if call.owner:
        return CppMethods.of_change(change, side).arities(call.owner, call.name)
    return CppFunctions.of_change(change, side).arities(call.name)


def _includes_more(unit: SourceFile, change: ChangeSet) -> bool:
    """Whether the change wrote an `#include`: a library may define now what the tree did."""
    return any(
        change.touches(unit.path, number, number)
        for number, line in enumerate(unit.lines, 1)
        if line.lstrip().startswith("#include")
    )


def _fitted_before(call: CppCall, change: ChangeSet) -> bool:
    """Whether the function of the call made such a call before, and each was one that fitted."""
    before = _arities(call, change, Side.BASE)
    file = change.changed(call.unit.path)
    path = file.base_path if file is not None else call.unit.path
    unit = change.unit(path, Side.BASE) if path else None
    if not before or unit is None:
        return False
    functions = unit.functions_named.get(call.function.qualname, [])
    counts = [
        len(old.call.args)
        for function in functions
        for old in _calls_of(call.name, function, unit, change, Side.BASE)
        if old.owner == call.owner
    ]
    return bool(counts) and all(any(one.takes(count) for one in before) for count in counts)


def _finding(call: CppCall, change: ChangeSet) -> Finding:
    arities = _arities(call, change, Side.HEAD) or frozenset()
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
