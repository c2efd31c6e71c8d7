"""Keys of dicts and attributes of batches: where a function sets them and where it needs them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.domain.ops import files_calling, statement_expressions
from checks.domain.siblings import base_unit
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign

_KEYED = frozenset({E.Index, E.Attr})
_PLATFORM = re.compile(r"is_\w+")


@dataclass(frozen=True, slots=True)
class Use:
    """`key` of `holder` (`share_inputs` in `self.share_inputs["k"]`, `self` in `self.k`) on `line`. `sets` where it
    gets a value, which is `value`; anything else needs it to be there."""

    holder: str
    key: str
    sets: bool
    line: int
    guards: tuple[E.Expr, ...]
    value: E.Expr | None = None


def uses(function: Function) -> Iterator[Use]:
    """Every use of a key or an attribute of `self` in `function`, in source order."""
    return iter(function.body.memo(uses, lambda: tuple(_uses(function))))


def _uses(function: Function) -> Iterator[Use]:
    for guarded, inside in statement_expressions(function.body):
        stmt, target = guarded.stmt, None
        if isinstance(stmt, Assign) and stmt.op == "=" and (found := _key(stmt.target)) is not None:
            target = stmt.target
            yield Use(*found, True, stmt.line, guarded.guards, stmt.value)
        for e in inside:
            # Most are neither: asked here, it spares a call for each of them.
            if e.__class__ in _KEYED and e is not target and (read := _key(e)) is not None:
                yield Use(*read, False, e.line or stmt.line, guarded.guards)


def _key(e: E.Expr) -> tuple[str, str] | None:
    if e.__class__ is E.Attr:
        return ("self", e.name) if e.base.__class__ is E.Name and e.base.id == "self" else None
    if e.__class__ is E.Index and len(e.indices) == 1:
        key = e.indices[0]
        if key.__class__ is E.Const and isinstance(key.value, str):
            holder = (E.dotted(e.base) or "").rsplit(".", 1)[-1]
            return (holder, key.value) if holder else None
    return None


def asks_platform(guards: tuple[E.Expr, ...]) -> bool:
    """Whether one of the conditions asks which hardware this is."""
    calls = (p for g in guards for p in E.walk(g) if isinstance(p, E.Call))
    return any(
        "platform" in (E.dotted(c.func) or "") and _PLATFORM.match(E.callee(c)) for c in calls
    )


def hardware_alone(test: E.Expr) -> bool:
    """Whether a condition holds on some hardware only; `not (not is_rocm() and not fits)` may hold on all."""
    match test:
        case E.Unary(op="not", operand=E.Binary(op="and", left=left, right=right)):
            return hardware_alone(left) and hardware_alone(right)
        case E.Binary(op="or", left=left, right=right):
            return hardware_alone(left) and hardware_alone(right)
        case E.Binary(op="and", left=left, right=right):
            return hardware_alone(left) or hardware_alone(right)
        case E.Unary(op="not", operand=E.Binary(op="or", left=left, right=right)):
            return hardware_alone(left) or hardware_alone(right)
        case _:
            return asks_platform((test,))


def looked_for(use: Use) -> bool:
    """Whether the code asks first if the key is there."""
    return any(p == E.Const(use.key) for g in use.guards for p in E.walk(g))


def changed_python(
    change: ChangeSet, config: Config
) -> Iterator[tuple[SourceFile | None, SourceFile]]:
    """(base, head) of every changed Python file of the product."""
    for file in change.files:
        path = file.head_path
        if (
            path is not None
            and path.endswith(".py")
            and not config.is_test(path)
            and file.mode == "file"
        ):
            unit = change.unit(path)
            if unit is not None:
                yield (base_unit(path, change) if file.base_path else None), unit


def product_files(word: str, change: ChangeSet, config: Config) -> list[str]:
    """The Python files of the product in which `word` stands."""
    return [
        p
        for p in change.head.paths_containing(word, "python")
        if p.endswith(".py") and not config.is_test(p)
    ]


def calling_files(name: str, change: ChangeSet, config: Config) -> list[str]:
    """The Python files of the product in which `name` may be called."""
    return [
        p for p in files_calling(name, change.head) if p.endswith(".py") and not config.is_test(p)
    ]


def sets_somehow(key: str, text: str) -> bool:
    """Whether `text` gives `key` a value in any way that code does."""
    if key not in text:
        return False
    k = re.escape(key)
    return bool(
        re.search(
            rf"[\"']{k}[\"']\]\s*=[^=]|[\"']{k}[\"']\s*:|\.{k}\b\s*(:[^=\n]+)?=[^=]|\b{k}\s*=[^=]",
            text,
        )
    )
