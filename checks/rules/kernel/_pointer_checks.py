"""Checks of pointers, `CHECK_PTR(ctx, T, count, p)`, and what C++ element types are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.changed import ChangedFunction
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Param
from checks.lang.ir.stmt import Assert, ExprStmt, Stmt

_CHECK = re.compile(r"(?:[A-Z0-9]+_)*CHECK_PTR(_OR_NULL)?")
_QUALIFIER = re.compile(
    r"\b(?:const|restrict|__restrict__|__global_ptr__|volatile)\b|\b\w+::|[\s*&]"
)
_ELEMENT_TYPES = {
    "int": "i32", "int32_t": "i32", "int64_t": "i64", "long": "i64", "longlong": "i64",
    "uint32_t": "u32", "unsigned": "u32", "unsignedint": "u32", "uint64_t": "u64", "size_t": "u64",
    "float": "f32", "double": "f64", "bool": "b8", "int8_t": "i8", "uint8_t": "u8", "char": "i8",
    "int16_t": "i16", "half": "f16", "float16": "f16", "__half": "f16", "bfloat16": "bf16",
    "__nv_bfloat16": "bf16",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class PointerCheck:
    """A check of the pointer parameter `param`: of what type and for how many elements.

    `always` says that it stands under no condition.
    """

    stmt: Stmt
    call: E.Call
    element: E.Expr
    count: E.Expr
    param: Param
    always: bool

    @property
    def macro(self) -> str:
        return E.callee(self.call)

    @property
    def allows_null(self) -> bool:
        return self.macro.endswith("OR_NULL")


def new_pointer_checks(changed: ChangedFunction) -> Iterator[PointerCheck]:
    """The checks of pointer parameters on lines of the change."""
    pointers = {p.name: p for p in changed.head.params if "*" in p.type}
    for guarded in changed.statements:
        stmt = guarded.stmt
        call = _check_call(stmt)
        if call is None or not changed.touched(stmt.line, stmt.end_line):
            continue
        element, count, pointer = call.args[-3:]
        if isinstance(pointer, E.Name) and pointer.id in pointers:
            param = pointers[pointer.id]
            yield PointerCheck(stmt, call, element, count, param, always=not guarded.guards)


def _check_call(stmt: Stmt) -> E.Call | None:
    """The call of a checking macro that a statement is."""
    if isinstance(stmt, Assert):
        value = stmt.test
    elif isinstance(stmt, ExprStmt):
        value = stmt.value
    else:
        return None
    if not isinstance(value, E.Call) or len(value.args) < 3:
        return None
    return value if _CHECK.fullmatch(E.callee(value)) else None


def element_type(text: str) -> str | None:
    """What a C++ type is, by kind and width; None for one that is not known."""
    return _ELEMENT_TYPES.get(_QUALIFIER.sub("", text))
