"""Random numbers come from a seed that is the same for every request, or for every run.

## What it does

Finds generators that the change sets up in sampling code (`std::mt19937`, `curand_init`, Triton's `tl.rand`,
`paddle.seed`) with a seed that is a constant, or a counter of the process that starts at one, instead of the seeds that
requests bring.

## Why it matters

PaddlePaddle/FastDeploy#6947 draws with a seed that starts at 0 with every process and ignores the one of each request:
two processes draw the same numbers, and a request with a seed does not repeat.

## Example

```cpp
static std::atomic<uint64_t> g_seed{0};
std::mt19937_64 engine(g_seed++);
```

## Known limits

A seed that is a parameter, a tensor or an attribute is taken for one that somebody chose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions, has_word
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Related, Severity
from checks.domain.ops import expressions_of
from checks.lang.ir import expr as E
from checks.lang.ir.stmt import Assign, For

ID = "kernel.fixed-seed"

_ENGINE = re.compile(
    r"(?:std::)?(?:mt19937(?:_64)?|default_random_engine|minstd_rand0?|ranlux\w+)$"
)
_STATIC = re.compile(
    r"^\s*(?:static|thread_local|inline)[\w\s:<>]*[\s>](\w+)\s*(?:\{|=|\()\s*(0[xX][0-9a-fA-F]+|\d+)\s*(?:U?L*)[\})]?\s*;"
)
_RANDOM = re.compile("rand|seed|mt19937|minstd")
_PYTHON = frozenset({"rand", "randn", "randint"})
_PYTHON_CALL = re.compile(r"(?:seed|rand|randn|randint)[\s\\]*\(")


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for delta in changed_functions(change, config):
        if _PYTHON_CALL.search(delta.text) if delta.python else _RANDOM.search(delta.code):
            yield from _seeds(delta)


def _seeds(delta: ChangedFunction) -> Iterator[Finding]:
    local = _locals(delta)
    seen: set[str] = set()
    for guarded in delta.statements:
        for top in expressions_of(guarded.stmt):
            for e in E.walk(top):
                seed = _seed_of(e, guarded.stmt, delta) if isinstance(e, E.Call) else None
                if seed is None:
                    continue
                origin = _origin(seed, local, delta)
                if origin is None or origin[0] in seen:
                    continue
                key, name, line = origin
                touched = delta.touched(guarded.stmt.line, guarded.stmt.end_line) or delta.touched(
                    line
                )
                if touched and not _was_there(name, key, delta):
                    seen.add(key)
                    yield _finding(key, name, line, guarded.stmt.line, delta)


def _locals(delta: ChangedFunction) -> dict[str, Assign]:
    pairs = [(g.stmt.target, g.stmt) for g in delta.statements if isinstance(g.stmt, Assign)]
    return {t.id: s for t, s in reversed(pairs) if isinstance(t, E.Name) and s.value is not None}


def _seed_of(call: E.Call, stmt: object, delta: ChangedFunction) -> E.Expr | None:
    """The seed that a call gives to a generator."""
    name = E.dotted(call.func) or ""
    if delta.python:
        per_step = delta.head.name not in ("__init__", "main") and "seed" not in delta.head.name
        if (
            name.startswith("tl.")
            and E.callee(call) in _PYTHON
            and any("triton" in m for m in delta.head.marks)
        ):
            return call.args[0] if call.args else None
        if name in ("paddle.seed", "torch.manual_seed") and per_step:
            return call.args[0] if call.args else None
        return None
    if call.launch:
        return _launched(call, delta)
    if E.callee(call) == "curand_init" or name in ("srand", "std::srand"):
        return call.args[0] if call.args else None
    declared = stmt.declares if isinstance(stmt, Assign) else None
    if declared and _ENGINE.search(declared.strip()) and name == declared.strip():
        return call.args[0] if len(call.args) == 1 else None
    return None


def _launched(call: E.Call, delta: ChangedFunction) -> E.Expr | None:
    """What a launch passes for a parameter that the kernel, in this file, calls a seed."""
    for kernel in delta.unit.named(E.callee(call)):
        for param, given in zip(kernel.params, call.args, strict=False):
            if "seed" in param.name.lower() and "*" not in param.type:
                return given
    return None


def _origin(
    seed: E.Expr, local: dict[str, Assign], delta: ChangedFunction, depth: int = 0
) -> tuple[str, str, int] | None:
    """(`constant` or `process`, its name, its line) of a seed that nobody outside can choose, else None."""
    if depth > 4:
        return None
    names = [e for e in E.walk(seed) if isinstance(e, E.Name)]
    loops = {
        t.id
        for g in delta.statements
        if isinstance(g.stmt, For) and isinstance(t := g.stmt.target, E.Name)
    }
    ids = [n for n in names if n.id not in loops and not n.id.startswith("std::")]
    if any(isinstance(e, E.Attr) for e in E.walk(seed)):
        return None
    if not ids:
        whole = isinstance(seed, E.Const) and isinstance(seed.value, int)
        return (
            ("constant", str(seed.value), seed.line)
            if isinstance(seed, E.Const) and whole
            else None
        )
    if len({n.id for n in ids}) != 1:
        return None
    name = ids[0].id
    if name in {p.name for p in delta.head.params}:
        return None
    static = _static(name, delta)
    if static is not None:
        return "process", name, static
    stmt = local.get(name)
    if stmt is None or stmt.value is None:
        return None
    value = stmt.value
    if isinstance(value, E.Call) and "vector" in (stmt.declares or "") and len(value.args) == 2:
        value = value.args[1]
    found = _origin(value, local, delta, depth + 1)
    return (
        (found[0], name if found[0] == "constant" else found[1], found[2] or stmt.line)
        if found
        else None
    )


def _static(name: str, delta: ChangedFunction) -> int | None:
    """The line on which a counter of the process named `name` starts at a constant."""
    inside = {
        n
        for f in delta.unit.functions
        if f is not delta.head
        for n in range(f.start_line, f.end_line + 1)
    }
    for number, line in enumerate(delta.unit.lines, 1):
        found = _STATIC.match(line) if name in line and number not in inside else None
        if found is not None and found.group(1) == name:
            return number
    return None


def _was_there(name: str, key: str, delta: ChangedFunction) -> bool:
    """Whether the base drew with the same fixed seed."""
    if delta.base_unit is None:
        return False
    if key == "process":
        return any(name in line and _STATIC.match(line) for line in delta.base_unit.lines)
    return has_word(delta.base_code, name)


def _finding(key: str, name: str, line: int, use: int, delta: ChangedFunction) -> Finding:
    keys = {"constant": "constant", "process": "process"}
    place = line if key == "process" and delta.touched(line) else use
    start = (
        found.group(2)
        if key == "process" and (found := _STATIC.match(delta.unit.text(line)))
        else name
    )
    return Finding(
        rule=ID,
        severity=Severity.SUGGESTION,
        confidence=Confidence.HIGH,
        location=Location(delta.unit.path, place),
        message=Message(keys[key], {"name": name, "function": delta.head.name, "start": start}),
        symbol=delta.head.qualname,
        subject=name,
        related=(Related(Location(delta.unit.path, use), Message("drawn", {})),)
        if place != use
        else (),
    )
