"""Tensors in Python code: where they are allocated, how many rows they have, and what is done to
them whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.code import names_in
from checks.core.finding import Side
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import SourceFile
from checks.lang.ir.stmt import Assign, guarded_statements

# The tokens of a large model of today (Qwen3), where a number has to be given for a row of logits.
VOCABULARY = 151_936
_ALLOCATIONS = frozenset({"full", "zeros", "ones", "empty", "rand", "randn"})
_UPPER_BOUND = re.compile(r"(?:^|_)max(?:imum)?(?:_|$)|^MAX_")
_COUNTS = frozenset({"sum", "item", "count_nonzero"})


@dataclass(frozen=True, slots=True)
class TensorAllocation:
    """A tensor allocated by `how` (`empty`, `full`, ...) at `line` of `path`; `rows` is its first
    dimension."""

    rows: E.Expr
    how: str
    path: str
    line: int
    end_line: int = 0


def allocation_of(value: E.Expr | None) -> tuple[E.Expr, str] | None:
    """(first dimension, function) of `paddle.full([rows, ...], ...)` and its like."""
    if not isinstance(value, E.Call) or not isinstance(value.func, E.Attr):
        return None
    function = E.callee(value)
    if function not in _ALLOCATIONS:
        return None
    shape = _shape(value)
    match shape:
        case E.Sequence(items=(rows, *_)):
            return rows, function
        case E.Name() | E.Attr() | E.Binary():
            return shape, function
        case _:
            return None


def _shape(call: E.Call) -> E.Expr | None:
    for name, value in call.keywords:
        if name in ("shape", "size"):
            return value
    return call.args[0] if call.args else None


# Functions of Python that give a size made of other sizes.
_SIZES = frozenset({"int", "len", "min", "max", "cdiv", "ceil_div", "round_up", "div_up"})


def is_upper_bound(expr: E.Expr, local: dict[str, E.Expr]) -> bool:
    """Whether a size is an upper bound by its name (`max_num_seqs`), followed through one local.

    A sum is a count, whatever it is called.
    """
    words: set[str] = set()
    for part in _without_slices(expr):
        match part:
            case E.Call() if E.callee(part) in _COUNTS:
                return False
            case E.Name(id=word) | E.Attr(name=word) | E.Const(value=str() as word):
                words.add(word)
    for word in list(words):
        value = local.get(word)
        # What a function of the project makes of a maximum is its own affair.
        if value is not None and not _is_project_call(value):
            words |= names_in(value) - {"shape"}
    return any(_UPPER_BOUND.search(word) for word in words)


def _is_project_call(value: E.Expr) -> bool:
    return isinstance(value, E.Call) and E.callee(value) not in _SIZES


def _without_slices(expr: E.Expr) -> Iterator[E.Expr]:
    """`expr` and what is in it, without the bounds of slices."""
    yield expr
    for child in E.children(expr):
        if not isinstance(child, E.Slice):
            yield from _without_slices(child)


def key_of(expr: E.Expr) -> str | None:
    """The name under which a shared tensor is known: of `share["k"]`, `self.k`, `output.k`."""
    match expr:
        case E.Index(base=E.Name() | E.Attr(), indices=(E.Const(value=str() as key),)):
            return key
        case E.Attr(base=E.Name(), name=name):
            return name
        case _:
            return None


def sliced_tensor(expr: E.Expr) -> E.Expr | None:
    """`x` of `x[:n]`, None for anything else."""
    match expr:
        case E.Index(base=base, indices=(E.Slice(lower=None, upper=upper), *_)):
            return base if upper is not None else None
        case _:
            return None


def allocations_of(
    key: str, change: ChangeSet, side: Side = Side.HEAD, most: int = 3
) -> Iterator[TensorAllocation]:
    """Where the shared tensor `key` is allocated, in at most `most` files."""
    word = re.escape(key)
    item = rf"\[\s*[\"']{word}[\"']\s*\]"
    assignment = re.compile(rf"(?:{item}|\.{word})\s*(?::[^=]+)?=(?!=)")
    lines: dict[str, set[int]] = {}
    for hit in change.tree(side).find(key, "python"):
        if assignment.search(hit.text):
            lines.setdefault(hit.path, set()).add(hit.line)
    for path in list(lines)[:most]:
        unit = change.unit(path, side)
        if unit is not None:
            yield from _allocations(key, unit, lines[path])


def _allocations(key: str, unit: SourceFile, lines: set[int]) -> Iterator[TensorAllocation]:
    """The allocations of `key` in the functions that have one of `lines`."""
    for function in unit.functions_on(lines):
        for guarded in guarded_statements(function.body):
            stmt = guarded.stmt
            if not isinstance(stmt, Assign) or stmt.op != "=" or key_of(stmt.target) != key:
                continue
            allocation = allocation_of(stmt.value)
            if allocation is not None:
                rows, how = allocation
                yield TensorAllocation(rows, how, unit.path, stmt.line, stmt.end_line)
