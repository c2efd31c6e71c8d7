"""Tensors in Python code: where they are made, how many rows they have, and what is done to them whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.changed import names_in
from checks.core.finding import Side
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import SourceFile
from checks.lang.ir.stmt import Assign, guarded_statements

# The tokens of a large model of today (Qwen3), where a number has to be given for a row of logits.
VOCABULARY = 151_936
_MAKERS = frozenset({"full", "zeros", "ones", "empty", "rand", "randn"})
_LARGEST = re.compile(r"(?:^|_)max(?:imum)?(?:_|$)|^MAX_")


@dataclass(frozen=True, slots=True)
class Made:
    """`rows` is the first dimension of a tensor made by `how` (`empty`, `full`, ...) at `line` of `path`."""

    rows: E.Expr
    how: str
    path: str
    line: int
    end_line: int = 0


def made(value: E.Expr | None) -> tuple[E.Expr, str] | None:
    """(first dimension, maker) of `paddle.full([rows, ...], ...)` and its like."""
    if (
        not isinstance(value, E.Call)
        or not isinstance(value.func, E.Attr)
        or E.callee(value) not in _MAKERS
    ):
        return None
    shape = next(
        (v for k, v in value.keywords if k in ("shape", "size")),
        value.args[0] if value.args else None,
    )
    if isinstance(shape, E.Sequence) and shape.items:
        return shape.items[0], E.callee(value)
    return (shape, E.callee(value)) if isinstance(shape, E.Name | E.Attr | E.Binary) else None


def largest(expr: E.Expr, local: dict[str, E.Expr]) -> bool:
    """Whether a size is an upper bound by its name (`max_num_seqs`), followed through one local; a sum is a count."""
    found: set[str] = set()
    for e in _sized(expr):
        if isinstance(e, E.Call) and E.callee(e) in ("sum", "item", "count_nonzero"):
            return False
        match e:
            case E.Name(id=name) | E.Attr(name=name) | E.Const(value=str() as name):
                found.add(name)
    for name in list(found):
        if name in local:
            found |= {n for n in names_in(local[name]) if n != "shape"}
    return any(_LARGEST.search(n) for n in found)


def _sized(expr: E.Expr) -> Iterator[E.Expr]:
    """`expr` and what is in it, without the bounds of slices."""
    yield expr
    for child in E.children(expr):
        if not isinstance(child, E.Slice):
            yield from _sized(child)


def key_of(expr: E.Expr) -> str | None:
    """The name under which a shared tensor is known: of `share["k"]`, `self.k`, `output.k`."""
    match expr:
        case E.Index(base=E.Name() | E.Attr(), indices=(E.Const(value=str() as key),)):
            return key
        case E.Attr(base=E.Name(), name=name):
            return name
    return None


def cut(expr: E.Expr) -> E.Expr | None:
    """What `x[:n]` cuts, None for anything else."""
    match expr:
        case E.Index(base=base, indices=(E.Slice(lower=None, upper=upper), *_)) if (
            upper is not None
        ):
            return base
    return None


def buffers(key: str, change: ChangeSet, side: Side = Side.HEAD, most: int = 3) -> Iterator[Made]:
    """Where the shared tensor `key` is made, in at most `most` files."""
    shape = re.compile(
        rf"(?:\[\s*[\"']{re.escape(key)}[\"']\s*\]|\.{re.escape(key)})\s*(?::[^=]+)?=(?!=)"
    )
    hits = [h for h in change.tree(side).find(key, "python") if shape.search(h.text)]
    for path in list(dict.fromkeys(h.path for h in hits))[:most]:
        unit = change.unit(path, side)
        if unit is not None:
            yield from _in_unit(key, unit, {h.line for h in hits if h.path == path})


def _in_unit(key: str, unit: SourceFile, lines: set[int]) -> Iterator[Made]:
    for function in unit.functions:
        if not any(function.covers(n) for n in lines):
            continue
        for guarded in guarded_statements(function.body):
            stmt = guarded.stmt
            if isinstance(stmt, Assign) and stmt.op == "=" and key_of(stmt.target) == key:
                found = made(stmt.value)
                if found is not None:
                    yield Made(found[0], found[1], unit.path, stmt.line, stmt.end_line)
