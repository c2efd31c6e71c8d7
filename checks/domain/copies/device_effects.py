"""What a device function does, one effect at a time.

Copies of an op for other hardware spell types, casts and namespaces differently, so effects are
compared without them. The same for Python, where nothing has to be left out, is `_effects`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.domain.copies.symbols import count_symbols
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function
from checks.lang.ir.stmt import Assign, ExprStmt, For, GuardedStmt, If, Return, guarded_statements

_INTEGER_BITS = {
    "int": 32,
    "int32_t": 32,
    "uint32_t": 32,
    "int64_t": 64,
    "uint64_t": 64,
    "size_t": 64,
    "long": 64,
    "longlong": 64,
}
# XPU code says in a name's ending which memory it is in: `lens_lm` is the local copy of `lens`.
_MEMORY_ENDING = re.compile(r"(_lm|_sm|_gm|_shared|_smem)+$")
_MIRRORED = {">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class DeviceEffect:
    """One thing that a device function does.

    `kind` is `assign` (`key` gets `form`), `branch` (`form` decides), `loop` (`form` bounds a
    counter), `result` (`form` is returned) or `call` (`key` is called, `form` is the whole call).
    `guards` are the conditions around it, `line`..`end_line` its code, and `bits` the width of the
    integer that an assignment declares (0: none, or not known).
    """

    kind: str
    key: E.Expr | None
    form: E.Expr
    guards: tuple[E.Expr, ...]
    line: int
    end_line: int
    bits: int = 0

    @property
    def identity(self) -> tuple[object, ...]:
        """What two effects that do the same have in common."""
        return self.kind, self.key, self.form

    @property
    def symbol_count(self) -> int:
        """How much it takes for two to be the same by chance: names and constants."""
        key_count = count_symbols(self.key) if self.key is not None else 0
        return key_count + count_symbols(self.form)

    @property
    def names(self) -> set[str]:
        key_names = E.names(self.key) if self.key is not None else set()
        return key_names | E.names(self.form)


def device_effects(function: Function) -> list[DeviceEffect]:
    """Every effect of `function` in source order."""
    return function.body.memo(device_effects, lambda: list(_effects(function)))


def _effects(function: Function) -> Iterator[DeviceEffect]:
    for guarded in guarded_statements(function.body):
        effect = _effect_of(guarded)
        if effect is not None:
            yield effect


def _effect_of(guarded: GuardedStmt) -> DeviceEffect | None:
    """What one statement does, leaving out the statements inside it."""
    stmt = guarded.stmt
    guards = tuple(normalise(guard) for guard in guarded.guards)
    match stmt:
        case Assign(target=target, op=op, value=value, declares=declares) if value is not None:
            form = normalise(value if op == "=" else E.Binary(op, target, value))
            bits = _integer_bits(declares) if declares is not None else 0
            key = normalise(target)
            return DeviceEffect("assign", key, form, guards, stmt.line, stmt.end_line, bits)
        case If(test=test):
            return DeviceEffect("branch", None, normalise(test), guards, stmt.line, _test_end(stmt))
        case For(stop=stop) if stop is not None:
            return DeviceEffect("loop", None, normalise(stop), guards, stmt.line, stmt.line)
        case For(test=test) if test is not None:
            return DeviceEffect("branch", None, normalise(test), guards, stmt.line, stmt.line)
        case Return(value=value) if value is not None:
            return DeviceEffect("result", None, normalise(value), guards, stmt.line, stmt.end_line)
        case ExprStmt(value=E.Call() as call) if call.args and not call.launch:
            key, form = normalise(call.func), normalise(call)
            return DeviceEffect("call", key, form, guards, stmt.line, stmt.end_line)
        case _:
            return None


def _test_end(stmt: If) -> int:
    """The last line of the condition: the one before the first statement inside."""
    if not stmt.then:
        return stmt.end_line
    return max(stmt.line, min(stmt.end_line, stmt.then[0].line - 1))


def _integer_bits(declaration: str) -> int:
    """The bits of a plain integer type, 0 for anything else."""
    kind = re.sub(r"\b(const|constexpr|static|unsigned|std::)\b|std::|\s", "", declaration)
    return _INTEGER_BITS.get(kind, 0)


def normalise(expr: E.Expr) -> E.Expr:
    """`expr` without casts, namespaces, template arguments and memory endings.

    Also, `a > b` becomes `b < a`: copies write a bound either way.
    """
    return E.substitute(expr, _normal_form)


def _normal_form(e: E.Expr) -> E.Expr | None:
    """What stands for one expression, None where it stays and its parts are looked at."""
    match e:
        case E.Cast(operand=operand):
            return normalise(operand)
        case E.Call(func=E.Name(id=name), args=(operand,)) if name.endswith("_cast"):
            return normalise(operand)
        case E.Call(func=func, args=args, template=template) if template:
            return E.Call(normalise(func), tuple(map(normalise, args)), line=e.line)
        case E.Name(id=name) if "::" in name or _MEMORY_ENDING.search(name):
            bare = _MEMORY_ENDING.sub("", name.rsplit("::", 1)[-1])
            return E.Name(bare or name, line=e.line)
        case E.Binary(op=">" | ">=" as op, left=left, right=right):
            return E.Binary(_MIRRORED[op], normalise(right), normalise(left), line=e.line)
        case _:
            return None
