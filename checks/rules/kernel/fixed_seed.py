"""Random numbers come from a seed that is the same for every request, or for every run.

## What it does

Finds generators that the change sets up in sampling code (`std::mt19937`, `curand_init`, Triton's
`tl.rand`, `paddle.seed`) with a seed that is a constant, or a counter of the process that starts at
one, instead of the seeds that requests bring.

## Why it matters

PaddlePaddle/FastDeploy#6947 draws with a seed that starts at 0 with every process and ignores the
one of each request: two processes draw the same numbers, and a request with a seed does not repeat.

## Example

```cpp
static std::atomic<uint64_t> g_seed{0};
std::mt19937_64 engine(g_seed++);
```

## Known limits

A seed that is a parameter, a tensor or an attribute is taken for one that somebody chose.
Benchmarks are left out, and functions that validate something.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from checks.core.benchmarks import is_benchmark
from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Related, Severity
from checks.core.words import has_word
from checks.lang.ir import expr as E
from checks.lang.ir.stmt import Assign, For, Stmt
from checks.rules.kernel._code_walks import expressions_in
from checks.rules.kernel._thread_divergence import is_triton

ID = "kernel.fixed-seed"
CONSTANT, PROCESS = "constant", "process"

_ENGINE = re.compile(
    r"(?:std::)?(?:mt19937(?:_64)?|default_random_engine|minstd_rand0?|ranlux\w+)$"
)
_STATIC_COUNTER = re.compile(
    r"^\s*(?:static|thread_local|inline)[\w\s:<>]*[\s>](\w+)\s*(?:\{|=|\()\s*"
    r"(0[xX][0-9a-fA-F]+|\d+)\s*(?:U?L*)[\})]?\s*;"
)
# What checks something against something else wants the same inputs every time.
_CHECKS = re.compile(r"(^|_)(validate|sanity|self_?test|check|ref(erence)?(_|$))")
_RANDOM_WORDS = re.compile("rand|seed|mt19937|minstd")
_TRITON_RANDOM = frozenset({"rand", "randn", "randint"})
# How many locals a seed is followed through.
_MOST_LOCALS = 4


@dataclass(frozen=True, slots=True)
class FixedSeed:
    """A constant, or a counter of the process, set at `line`: a seed that nobody can choose."""

    kind: str
    name: str
    line: int


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for changed in changed_functions(change, config):
        if is_benchmark(changed.unit.path) or _CHECKS.search(changed.head.name):
            continue
        # In C++, a function that says nothing of randomness may pass a seed for another reason.
        if changed.python or _RANDOM_WORDS.search(changed.code):
            yield from _fixed_seeds(changed)


def _fixed_seeds(changed: ChangedFunction) -> Iterator[Finding]:
    """At most one finding for a constant and one for a counter in each function."""
    local = _first_assignments(changed)
    reported: set[str] = set()
    for guarded, call in expressions_in(changed.statements):
        if not isinstance(call, E.Call):
            continue
        stmt = guarded.stmt
        seed = _seed_argument(call, stmt, changed)
        if seed is None:
            continue
        origin = _origin(seed, local, changed)
        if origin is None or origin.kind in reported:
            continue
        is_new = changed.touched(stmt.line, stmt.end_line) or changed.touched(origin.line)
        if is_new and not _was_there(origin, changed):
            reported.add(origin.kind)
            yield _finding(origin, stmt.line, changed)


def _first_assignments(changed: ChangedFunction) -> dict[str, Assign]:
    """The first assignment of each local that has a value."""
    found: dict[str, Assign] = {}
    for guarded in changed.statements:
        stmt = guarded.stmt
        if isinstance(stmt, Assign) and isinstance(stmt.target, E.Name) and stmt.value is not None:
            found.setdefault(stmt.target.id, stmt)
    return found


def _seed_argument(call: E.Call, stmt: Stmt, changed: ChangedFunction) -> E.Expr | None:
    """The seed that a call gives to a generator."""
    if changed.python:
        return _python_seed(call, changed)
    if call.launch:
        return _launched_seed(call, changed)
    if not call.args:
        return None
    name = E.dotted(call.func) or ""
    if E.callee(call) == "curand_init" or name in ("srand", "std::srand"):
        return call.args[0]
    if _constructs_engine(name, stmt) and len(call.args) == 1:
        return call.args[0]
    return None


def _constructs_engine(name: str, stmt: Stmt) -> bool:
    """Whether a call of `name` is the constructor in `std::mt19937 engine(seed)`."""
    if not isinstance(stmt, Assign) or not stmt.declares:
        return False
    declared = stmt.declares.strip()
    return name == declared and _ENGINE.search(declared) is not None


def _python_seed(call: E.Call, changed: ChangedFunction) -> E.Expr | None:
    if not call.args:
        return None
    name = E.dotted(call.func) or ""
    if name.startswith("tl.") and E.callee(call) in _TRITON_RANDOM and is_triton(changed.head):
        return call.args[0]
    if name in ("paddle.seed", "torch.manual_seed") and not _is_set_up(changed.head.name):
        return call.args[0]
    return None


def _is_set_up(function: str) -> bool:
    """Whether a function seeds once, or for a test, by its name: it does not run at every step."""
    is_test = function == "test" or function.startswith("test_")
    return is_test or function in ("__init__", "main") or "seed" in function


def _launched_seed(call: E.Call, changed: ChangedFunction) -> E.Expr | None:
    """What a launch passes for a parameter that the kernel, in this file, calls a seed."""
    for kernel in changed.unit.named(E.callee(call)):
        for param, given in zip(kernel.params, call.args, strict=False):
            if "seed" in param.name.lower() and "*" not in param.type:
                return given
    return None


def _origin(
    seed: E.Expr, local: dict[str, Assign], changed: ChangedFunction, depth: int = 0
) -> FixedSeed | None:
    """Where a seed comes from, if nobody outside can choose it."""
    # An attribute is something that somebody chose (`request.seed`), or that differs.
    if depth > _MOST_LOCALS or any(isinstance(e, E.Attr) for e in E.walk(seed)):
        return None
    names = _variables(seed, changed)
    if not names:
        if isinstance(seed, E.Const) and isinstance(seed.value, int):
            return FixedSeed(CONSTANT, str(seed.value), seed.line)
        return None
    if len(names) != 1:
        return None
    name = names.pop()
    if name in {p.name for p in changed.head.params}:
        return None
    counter = _static_line(name, changed)
    if counter is not None:
        return FixedSeed(PROCESS, name, counter)
    stmt = local.get(name)
    if stmt is None or stmt.value is None:
        return None
    origin = _origin(_filled_value(stmt, stmt.value), local, changed, depth + 1)
    if origin is None:
        return None
    if origin.kind == CONSTANT:
        origin = replace(origin, name=name)
    return replace(origin, line=origin.line or stmt.line)


def _variables(seed: E.Expr, changed: ChangedFunction) -> set[str]:
    """The variables that a seed is made of, without the counters of loops."""
    counters: set[str] = set()
    for guarded in changed.statements:
        stmt = guarded.stmt
        if isinstance(stmt, For) and isinstance(stmt.target, E.Name):
            counters.add(stmt.target.id)
    # `7 + i` in a loop over `i` is as fixed as 7.
    names = {e.id for e in E.walk(seed) if isinstance(e, E.Name)}
    return {name for name in names if name not in counters and not name.startswith("std::")}


def _filled_value(stmt: Assign, value: E.Expr) -> E.Expr:
    """The value of every element of `std::vector<T> seeds(n, value)`; else the value itself."""
    if isinstance(value, E.Call) and "vector" in (stmt.declares or "") and len(value.args) == 2:
        return value.args[1]
    return value


def _static_line(name: str, changed: ChangedFunction) -> int | None:
    """The line on which a counter of the process named `name` starts at a constant."""
    for number, line in enumerate(changed.unit.lines, 1):
        found = _STATIC_COUNTER.match(line)
        if found is None or found.group(1) != name:
            continue
        if not _is_in_other_function(number, changed):
            return number
    return None


def _is_in_other_function(line: int, changed: ChangedFunction) -> bool:
    return any(f is not changed.head for f in changed.unit.functions_on([line]))


def _was_there(seed: FixedSeed, changed: ChangedFunction) -> bool:
    """Whether the base drew with the same fixed seed."""
    if changed.base_unit is None:
        return False
    if seed.kind == PROCESS:
        lines = changed.base_unit.lines
        return any(seed.name in line and _STATIC_COUNTER.match(line) for line in lines)
    return has_word(changed.base_code, seed.name)


def _finding(seed: FixedSeed, use: int, changed: ChangedFunction) -> Finding:
    place, start = use, seed.name
    if seed.kind == PROCESS:
        if changed.touched(seed.line):
            place = seed.line
        counter = _STATIC_COUNTER.match(changed.unit.text(seed.line))
        if counter is not None:
            start = counter.group(2)
    related: tuple[Related, ...] = ()
    if place != use:
        related = (Related(Location(changed.unit.path, use), Message("drawn", {})),)
    args = {"name": seed.name, "function": changed.head.name, "start": start}
    return Finding(
        rule=ID,
        severity=Severity.SUGGESTION,
        confidence=Confidence.HIGH,
        location=Location(changed.unit.path, place),
        message=Message(seed.kind, args),
        symbol=changed.head.qualname,
        subject=seed.name,
        related=related,
    )
