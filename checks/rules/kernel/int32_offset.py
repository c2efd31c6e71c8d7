"""An offset into a tensor of rows times vocabulary is computed in 32 bits.

## What it does

Finds products of a row and the size of the vocabulary that the change wrote in kernels, both of
32-bit types, used as an index or added to a pointer; in Triton, a `tl.program_id` times the
vocabulary without `.to(tl.int64)`. Says from which row on the product does not fit.

## Why it matters

With 151,936 tokens, row 14,135 is beyond 2^31 - 1: the kernel then writes far outside its tensor.
vLLM fixed this in its rejection sampler; PaddlePaddle/FastDeploy#7600 computes
`cu_batch_token_offset[bid] * vocab_size` in `int`.

## Example

```cuda
const float* row = logits + offsets[bid] * vocab_size;                        // int * int
const float* row = logits + static_cast<int64_t>(offsets[bid]) * vocab_size;  // kept
```

## Known limits

The vocabulary is known by its name. Whether so many rows can come at once is not known, so the
finding is a question; where the row's name says that it is a request's, it is for the pedantic
persona. So is a product with an unsigned factor, which holds twice as many rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.code import equal_code, names_in
from checks.core.config import Config
from checks.core.finding import Confidence, Edit, Finding, Fix, Location, Message, Severity
from checks.core.words import has_word, name_parts
from checks.domain.ops import expressions_of
from checks.domain.tensors import VOCABULARY
from checks.lang.ir import expr as E
from checks.lang.ir.render import source_of
from checks.lang.ir.stmt import Assign, Stmt
from checks.rules.kernel._thread_divergence import is_device, is_triton

ID = "kernel.int32-offset"

_REQUEST_WORDS = frozenset({"req", "request", "batch", "bid", "bsz", "seq"})
_VOCABULARY_NAME = re.compile(r"vocab", re.IGNORECASE)
_UNSIGNED = re.compile(r"\b(?:unsigned|uint32_t)\b")
_NARROW = re.compile(r"\b(?:int|int32_t|unsigned|uint32_t)\b")
_WIDE = re.compile(r"64|long|size_t|ptrdiff|auto|float|double|\bT\b")


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for changed in changed_functions(change, config):
        if (changed.python and is_triton(changed.head)) or (
            not changed.python and is_device(changed.head)
        ):
            yield from _narrow_products(changed)


def _narrow_products(changed: ChangedFunction) -> Iterator[Finding]:
    """The first new product of a kernel that is computed in 32 bits."""
    known = list(_base_products(changed))
    products = list(_all_narrow(changed))
    for product in products:
        if any(equal_code(product, old) for old in known) or not changed.touched(product.line):
            continue
        yield _finding(product, products, changed)
        return


def _all_narrow(changed: ChangedFunction) -> Iterator[E.Binary]:
    """Every product of the kernel that is computed in 32 bits, new or old, with its line."""
    types = _declared_types(changed)
    for guarded in changed.statements:
        stmt = guarded.stmt
        for top in expressions_of(stmt):
            for product in _offsets(top, stmt, triton=changed.python):
                if _is_narrow(product, types, changed):
                    yield product if product.line else replace(product, line=stmt.line)


def _is_narrow(product: E.Binary, types: dict[str, str], changed: ChangedFunction) -> bool:
    if changed.python:
        return _is_program_row(_row(product), changed)
    return _is_32_bit(product, types)


def _declared_types(changed: ChangedFunction) -> dict[str, str]:
    """The types of parameters and locals, as written."""
    types = {p.name: p.type for p in changed.head.params}
    for guarded in changed.statements:
        stmt = guarded.stmt
        if isinstance(stmt, Assign) and stmt.declares and isinstance(stmt.target, E.Name):
            types[stmt.target.id] = stmt.declares
    return types


def _base_products(changed: ChangedFunction) -> Iterator[E.Binary]:
    for guarded in changed.base_statements:
        for top in expressions_of(guarded.stmt):
            yield from _vocabulary_products(top)


def _vocabulary_products(top: E.Expr) -> Iterator[E.Binary]:
    for e in E.walk(top):
        if not isinstance(e, E.Binary) or e.op != "*":
            continue
        if _is_vocabulary(e.left) or _is_vocabulary(e.right):
            yield e


def _is_vocabulary(side: E.Expr) -> bool:
    if not isinstance(side, E.Name | E.Attr):
        return False
    return any(_VOCABULARY_NAME.search(name) for name in names_in(side))


def _row(product: E.Binary) -> E.Expr:
    """The side of the product that is not the vocabulary."""
    return product.left if _is_vocabulary(product.right) else product.right


def _offsets(top: E.Expr, stmt: Stmt, *, triton: bool) -> Iterator[E.Binary]:
    """Products that end as an index, or in a sum with a pointer."""
    declares_pointer = isinstance(stmt, Assign) and "*" in (stmt.declares or "")
    for e in E.walk(top):
        match e:
            case E.Index(indices=(index,)):
                yield from _vocabulary_products(index)
            case E.Binary(op="+") if triton or declares_pointer:
                yield from _vocabulary_products(e)


def _is_32_bit(expr: E.Expr, types: dict[str, str]) -> bool:
    """Whether a C++ expression is computed in 32 bits, certainly."""
    match expr:
        case E.Name(id=name):
            declared = types.get(name, "")
            return _is_narrow_type(declared) and "*" not in declared
        case E.Const(value=int(), suffix=suffix):
            return "l" not in suffix.lower()
        case E.Attr(base=E.Name(id="blockIdx" | "threadIdx" | "blockDim" | "gridDim")):
            return True
        case E.Index(base=E.Name(id=name)):
            return _is_narrow_type(types.get(name, ""))
        case E.Binary(op="*" | "+" | "-", left=left, right=right):
            return _is_32_bit(left, types) and _is_32_bit(right, types)
    return False


def _is_unsigned(expr: E.Expr, types: dict[str, str]) -> bool:
    """Whether a 32-bit C++ expression has an unsigned part, which makes all of it unsigned."""
    for part in E.walk(expr):
        match part:
            case E.Name(id=name) if _UNSIGNED.search(types.get(name, "")):
                return True
            case E.Attr(base=E.Name(id="blockIdx" | "threadIdx" | "blockDim" | "gridDim")):
                return True
            case E.Const(suffix=suffix) if "u" in suffix.lower():
                return True
    return False


def _is_narrow_type(declared: str) -> bool:
    return bool(_NARROW.search(declared)) and not _WIDE.search(declared)


def _is_program_row(row: E.Expr, changed: ChangedFunction) -> bool:
    """A program id, as it is; not where the programs are few and each walks over many rows."""
    if has_word(changed.code, "num_programs"):
        return False
    if isinstance(row, E.Call):
        return E.dotted(row.func) == "tl.program_id"
    return isinstance(row, E.Name) and row.id in _program_ids(changed)


def _program_ids(changed: ChangedFunction) -> set[str]:
    """The locals that hold a program id."""
    found: set[str] = set()
    for guarded in changed.statements:
        match guarded.stmt:
            case Assign(target=E.Name(id=name), value=E.Call(func=func)):
                if E.dotted(func) == "tl.program_id":
                    found.add(name)
    return found


def _counts_requests(row: E.Expr) -> bool:
    """Whether a row is a request's: ten thousand of these at once come to nobody."""
    words = set(name_parts(row.id)) if isinstance(row, E.Name) else set()
    return not words.isdisjoint(_REQUEST_WORDS) and "token" not in words


def _finding(product: E.Binary, products: list[E.Binary], changed: ChangedFunction) -> Finding:
    is_unsigned = not changed.python and _is_unsigned(product, _declared_types(changed))
    bits = 32 if is_unsigned else 31
    args = {
        "product": source_of(product),
        "row": source_of(_row(product)),
        "rows": (1 << bits) // VOCABULARY,
        "tokens": VOCABULARY,
    }
    return Finding(
        rule=ID,
        severity=Severity.QUESTION,
        confidence=Confidence.LOW,
        location=Location(changed.unit.path, product.line),
        message=Message("product", args),
        symbol=changed.head.qualname,
        subject=source_of(product),
        fix=_fix(product, products, changed),
        pedantic=is_unsigned or _counts_requests(_row(product)),
    )


def _fix(product: E.Binary, products: list[E.Binary], changed: ChangedFunction) -> Fix | None:
    """The product with its row widened, and the other products of the kernel that can be: a reader
    who widens one would not leave the same one a line above."""
    own = _edit(product, changed)
    if own is None:
        return None
    edits = {own.start_line: own}
    for other in products:
        edit = _edit(other, changed)
        if edit is not None:
            edits.setdefault(edit.start_line, edit)
    return Fix(tuple(edits[line] for line in sorted(edits)))


def _edit(product: E.Binary, changed: ChangedFunction) -> Edit | None:
    """The line with the row widened, where the row stands first and the text is unique."""
    row = _row(product)
    if row is not product.left:
        return None
    if not changed.python:
        wide = f"static_cast<int64_t>({source_of(row)})"
    elif isinstance(row, E.Name):
        wide = f"{source_of(row)}.to(tl.int64)"
    else:
        return None
    text = changed.unit.text(product.line).rstrip("\r")
    before = source_of(product)
    if text.count(before) != 1:
        return None
    after = before.replace(source_of(row), wide, 1)
    line = text.replace(before, after)
    return Edit(changed.unit.path, product.line, product.line, (line,))
