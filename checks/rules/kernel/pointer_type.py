"""A pointer is checked or read as something that it is not.

## What it does

Looks at the checks of pointers that the change wrote (`CHECK_PTR(ctx, T, count, p)`): `T` must be what `p` points to,
the count must be what a comment above it says, and a pointer for which a caller passes `nullptr` must not be checked
with the macro that refuses it. Also one tensor read as two types in one function (`t.data<int>()`,
`t.data<int64_t>()`).

## Why it matters

PaddlePaddle/FastDeploy#6947 checks `candidate_lens` as `int64_t` although it is `const int *`, and a buffer for
`real_bsz` elements under a comment that gives it another length. #6830 added a check for a pointer that is optional:
the op returned INVALID_PARAM for every caller without it.

## Example

```cpp
int verify(Context* ctx, const int* lens, int rows) {
  CHECK_PTR(ctx, int64_t, rows, lens);
```

## Known limits

Types are compared by width and kind after the usual names (`long`, `int64_t`); a type that is a template's parameter is
not judged. Callers are looked for by name in C++.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions, has_word
from checks.core.config import Config
from checks.core.finding import (
    Confidence,
    Definition,
    Edit,
    Finding,
    Fix,
    Location,
    Message,
    Severity,
)
from checks.domain.bitfields.ranges import source_of
from checks.domain.ops import calls_of
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, Param
from checks.lang.ir.stmt import Assert, ExprStmt

ID = "kernel.pointer-type"

_CHECK = re.compile(r"(?:[A-Z0-9]+_)*CHECK_PTR(_OR_NULL)?")
_QUALIFIER = re.compile(
    r"\b(?:const|restrict|__restrict__|__global_ptr__|volatile)\b|\b\w+::|[\s*&]"
)
_KIND = {
    "int": "i32", "int32_t": "i32", "int64_t": "i64", "long": "i64", "longlong": "i64", "uint32_t": "u32",
    "unsigned": "u32", "unsignedint": "u32", "uint64_t": "u64", "size_t": "u64", "float": "f32", "double": "f64",
    "bool": "b8", "int8_t": "i8", "uint8_t": "u8", "char": "i8", "int16_t": "i16", "half": "f16", "float16": "f16",
    "__half": "f16", "bfloat16": "bf16", "__nv_bfloat16": "bf16",
}  # fmt: skip


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for delta in changed_functions(change, config):
        if delta.python:
            continue
        if "CHECK_PTR" in delta.code:
            yield from _checks(delta, change, config)
        if "data<" in delta.code:
            yield from _twice(delta)


def _checks(delta: ChangedFunction, change: ChangeSet, config: Config) -> Iterator[Finding]:
    params = {p.name: p for p in delta.head.params if "*" in p.type}
    strict: dict[str, E.Call] = {}
    for guarded in delta.statements:
        call = _check(guarded.stmt)
        if call is None or not delta.touched(guarded.stmt.line, guarded.stmt.end_line):
            continue
        kind, count, pointer = call.args[-3:]
        param = params.get(pointer.id) if isinstance(pointer, E.Name) else None
        if param is None:
            continue
        yield from _type(kind, param, guarded.stmt.line, guarded.stmt.end_line, delta)
        yield from _count(count, param, guarded.stmt.line, delta)
        if not E.callee(call).endswith("OR_NULL") and not guarded.guards:
            strict[param.name] = call
    if strict:
        yield from _nullable(strict, delta, change, config)


def _check(stmt: object) -> E.Call | None:
    value = (
        stmt.test
        if isinstance(stmt, Assert)
        else stmt.value
        if isinstance(stmt, ExprStmt)
        else None
    )
    if isinstance(value, E.Call) and _CHECK.fullmatch(E.callee(value)) and len(value.args) >= 3:
        return value
    return None


def _kind(text: str) -> str | None:
    """What a C++ type is, by kind and width; None for one that is not known."""
    return _KIND.get(_QUALIFIER.sub("", text))


def _type(
    kind: E.Expr, param: Param, line: int, end: int, delta: ChangedFunction
) -> Iterator[Finding]:
    text = delta.unit.text(line, end)
    checked = next((w for w in re.findall(r"[\w:]+", text) if _kind(w) is not None), None)
    declared = _kind(param.type)
    if (
        checked is None
        or declared is None
        or _kind(checked) == declared
        or param.type.count("*") != 1
    ):
        return
    true = re.sub(r"\bconst\b|[\s*]", "", param.type)
    fixed = re.sub(rf"(\(\s*\w+\s*,\s*){re.escape(checked)}\b", rf"\g<1>{true}", text, count=1)
    args = {"name": param.name, "checked": checked, "declared": param.type}
    yield Finding(
        rule=ID,
        severity=Severity.SUGGESTION,
        confidence=Confidence.HIGH,
        location=Location(delta.unit.path, line, end),
        message=Message("type", args),
        symbol=delta.head.qualname,
        subject=f"{param.name} {checked}",
        evidence=(Definition(param.name, Location(delta.unit.path, param.line), param.type),),
        fix=Fix((Edit(delta.unit.path, line, end, tuple(fixed.split("\n"))),))
        if fixed != text
        else None,
    )


def _count(count: E.Expr, param: Param, line: int, delta: ChangedFunction) -> Iterator[Finding]:
    """The comment right above says how long the buffer is."""
    for comment in delta.unit.comments:
        if comment.end_line != line - 1:
            continue
        found = re.search(
            rf"\b(?:len|length|size)\(\s*{re.escape(param.name)}\s*\)\s*=+\s*(.+)$", comment.text
        )
        if found is None:
            found = re.search(rf"\b{re.escape(param.name)}\s*:?\s*\[([^\]]+)\]", comment.text)
        said = found.group(1).strip().rstrip(".") if found else ""
        mine = re.sub(r"\s", "", source_of(count))
        if (
            said
            and re.sub(r"[\s()]", "", said) != re.sub(r"[()]", "", mine)
            and not _one_in_other(said, count)
        ):
            yield Finding(
                rule=ID,
                severity=Severity.SUGGESTION,
                confidence=Confidence.HIGH,
                location=Location(delta.unit.path, line),
                message=Message(
                    "count", {"name": param.name, "count": source_of(count), "said": said}
                ),
                symbol=delta.head.qualname,
                subject=f"{param.name} {source_of(count)}",
                evidence=(Definition(param.name, Location(delta.unit.path, comment.line), said),),
            )


def _one_in_other(said: str, count: E.Expr) -> bool:
    """`[bsz, 1]` for `bsz`: the same names, another spelling."""
    words = set(re.findall(r"[A-Za-z_]\w*", said))
    return words == E.names(count)


def _nullable(
    strict: dict[str, E.Call], delta: ChangedFunction, change: ChangeSet, config: Config
) -> Iterator[Finding]:
    """Callers that pass `nullptr`, or `x ? ... : nullptr`, for a pointer that is refused then."""
    head = delta.head
    places = {p.name: n for n, p in enumerate(head.params)}
    seen: set[str] = set()
    for path in change.head.paths_containing(head.name, "cpp"):
        unit = change.unit(path) if not config.is_test(path) else None
        for function in unit.functions if unit is not None else ():
            if (
                unit is None
                or function.name == head.name
                or not has_word(_text(function, delta, path, change), head.name)
            ):
                continue
            for call, _ in calls_of(function.body):
                if E.callee(call) != head.name or len(call.args) != len(head.params):
                    continue
                for name in strict.keys() - seen:
                    passed = call.args[places[name]]
                    if _may_be_null(passed, function):
                        seen.add(name)
                        at = Location(path, passed.line or call.line)
                        yield _refused(
                            name, strict[name], at, unit.text(at.start_line).strip(), delta
                        )


def _text(function: Function, delta: ChangedFunction, path: str, change: ChangeSet) -> str:
    unit = change.unit(path)
    return unit.text(function.start_line, function.end_line) if unit is not None else ""


def _may_be_null(passed: E.Expr, function: Function) -> bool:
    match passed:
        case E.Const(value=None):
            return True
        case E.Ternary(then=then, orelse=orelse):
            return _may_be_null(then, function) or _may_be_null(orelse, function)
        case E.Cast(operand=operand):
            return _may_be_null(operand, function)
        case E.Call(func=E.Name(), args=(only,), template=text) if text:
            return _may_be_null(only, function)
    return False


def _refused(
    name: str, call: E.Call, at: Location, excerpt: str, delta: ChangedFunction
) -> Finding:
    line = call.line
    text = delta.unit.text(line)
    macro = E.callee(call)
    fixed = text.replace(f"{macro}(", f"{macro}_OR_NULL(", 1)
    return Finding(
        rule=ID,
        severity=Severity.BUG,
        confidence=Confidence.HIGH,
        location=Location(delta.unit.path, line),
        message=Message("refused", {"name": name, "macro": macro, "at": at}),
        symbol=delta.head.qualname,
        subject=f"{name} {macro}",
        evidence=(Definition(name, at, "nullptr", excerpt),),
        fix=Fix((Edit(delta.unit.path, line, line, (fixed.rstrip("\r"),)),))
        if fixed != text
        else None,
    )


def _twice(delta: ChangedFunction) -> Iterator[Finding]:
    """One tensor, two element types, under the same conditions: one of the reads throws."""
    first: dict[str, tuple[str, int, tuple[E.Expr, ...]]] = {}
    for guarded in delta.statements:
        for top in (getattr(guarded.stmt, "value", None),):
            for e in E.walk(top) if isinstance(top, E.Node) else ():  # type: ignore[arg-type]
                if (
                    not isinstance(e, E.Call)
                    or E.callee(e) != "data"
                    or e.args
                    or not isinstance(e.func, E.Attr)
                ):
                    continue
                name, kind = E.dotted(e.func.base), _kind(e.template)
                if name is None or kind is None:
                    continue
                before = first.setdefault(name, (e.template, e.line, guarded.guards))
                together = before[2] == guarded.guards[: len(before[2])]
                if _kind(before[0]) != kind and together and delta.touched(e.line):
                    yield _two_types(name, before[0], before[1], e.template, e.line, delta)


def _two_types(
    name: str, one: str, at: int, other: str, line: int, delta: ChangedFunction
) -> Finding:
    args = {"name": name, "one": one, "other": other, "at": Location(delta.unit.path, at)}
    return Finding(
        rule=ID,
        severity=Severity.QUESTION,
        confidence=Confidence.HIGH,
        location=Location(delta.unit.path, line),
        message=Message("two-types", args),
        symbol=delta.head.qualname,
        subject=f"{name} {one} {other}",
    )
