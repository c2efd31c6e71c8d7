"""An offset into a tensor of rows times vocabulary is computed in 32 bits.

## What it does

Finds products of a row and the size of the vocabulary that the change wrote in kernels, both of 32-bit types, used as
an index or added to a pointer; in Triton, a `tl.program_id` times the vocabulary without `.to(tl.int64)`. Says from
which row on the product does not fit.

## Why it matters

With 151,936 tokens, row 14,135 is beyond 2^31 - 1: the kernel then writes far outside its tensor. vLLM fixed this in
its rejection sampler; PaddlePaddle/FastDeploy#7600 computes `cu_batch_token_offset[bid] * vocab_size` in `int`.

## Example

```cuda
const float* row = logits + offsets[bid] * vocab_size;                        // int * int
const float* row = logits + static_cast<int64_t>(offsets[bid]) * vocab_size;  // kept
```

## Known limits

The vocabulary is known by its name. Whether so many rows can come at once is not known, so the finding is a question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions, equal_code, has_word, names_in
from checks.core.config import Config
from checks.core.finding import Confidence, Edit, Finding, Fix, Location, Message, Severity
from checks.domain.bitfields.ranges import source_of
from checks.domain.ops import expressions_of
from checks.domain.tensors import VOCABULARY
from checks.lang.ir import expr as E
from checks.lang.ir.stmt import Assign
from checks.rules.kernel._thread_divergence import is_device

ID = "kernel.int32-offset"

_VOCAB = re.compile(r"vocab", re.IGNORECASE)
_NARROW = re.compile(r"\b(?:int|int32_t|unsigned|uint32_t)\b")
_WIDE = re.compile(r"64|long|size_t|ptrdiff|auto|float|double|\bT\b")


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for delta in changed_functions(change, config):
        triton = delta.python and any("triton" in m for m in delta.head.marks)
        if (triton or (not delta.python and is_device(delta.head))) and _VOCAB.search(delta.code):
            yield from _products(delta, triton)


def _products(delta: ChangedFunction, triton: bool) -> Iterator[Finding]:
    types = _types(delta)
    old = [
        p
        for g in delta.base_statements
        for top in expressions_of(g.stmt)
        for p in _vocab_products(top)
    ]
    for guarded in delta.statements:
        stmt = guarded.stmt
        for top in expressions_of(stmt):
            for product in _offsets(top, stmt, triton):
                if any(equal_code(product, o) for o in old) or not delta.touched(
                    product.line or stmt.line
                ):
                    continue
                narrow = _triton_row(product, delta) if triton else _narrow(product, types)
                if narrow:
                    yield _finding(product, delta, triton)
                    return


def _types(delta: ChangedFunction) -> dict[str, str]:
    types = {p.name: p.type for p in delta.head.params}
    for guarded in delta.statements:
        stmt = guarded.stmt
        if isinstance(stmt, Assign) and stmt.declares and isinstance(stmt.target, E.Name):
            types[stmt.target.id] = stmt.declares
    return types


def _vocab_products(top: E.Expr) -> Iterator[E.Binary]:
    for e in E.walk(top):
        if isinstance(e, E.Binary) and e.op == "*" and any(_is_vocab(s) for s in (e.left, e.right)):
            yield e


def _is_vocab(side: E.Expr) -> bool:
    return isinstance(side, E.Name | E.Attr) and any(_VOCAB.search(n) for n in names_in(side))


def _offsets(top: E.Expr, stmt: object, triton: bool) -> Iterator[E.Binary]:
    """Products that end as an index, or in a sum with a pointer."""
    for e in E.walk(top):
        match e:
            case E.Index(indices=(index,)):
                yield from _vocab_products(index)
            case E.Binary(op="+") if triton or (
                isinstance(stmt, Assign) and "*" in (stmt.declares or "")
            ):
                yield from _vocab_products(e)


def _narrow(expr: E.Expr, types: dict[str, str]) -> bool:
    """Whether a C++ expression is computed in 32 bits, certainly."""
    match expr:
        case E.Name(id=name):
            kind = types.get(name, "")
            return bool(_NARROW.search(kind)) and not _WIDE.search(kind) and "*" not in kind
        case E.Const(value=int(), suffix=suffix):
            return "l" not in suffix.lower()
        case E.Attr(base=E.Name(id="blockIdx" | "threadIdx" | "blockDim" | "gridDim")):
            return True
        case E.Index(base=E.Name(id=name)):
            kind = types.get(name, "")
            return bool(_NARROW.search(kind)) and not _WIDE.search(kind)
        case E.Binary(op="*" | "+" | "-", left=left, right=right):
            return _narrow(left, types) and _narrow(right, types)
    return False


def _triton_row(product: E.Binary, delta: ChangedFunction) -> bool:
    """A program id, as it is, times the vocabulary; not where the programs are few and each walks over many rows."""
    if has_word(delta.code, "num_programs"):
        return False
    row = product.left if _is_vocab(product.right) else product.right
    ids: set[str] = set()
    for guarded in delta.statements:
        match guarded.stmt:
            case Assign(target=E.Name(id=name), value=E.Call() as call) if (
                E.dotted(call.func) == "tl.program_id"
            ):
                ids.add(name)
    if isinstance(row, E.Call):
        return E.dotted(row.func) == "tl.program_id"
    return isinstance(row, E.Name) and row.id in ids


def _finding(product: E.Binary, delta: ChangedFunction, triton: bool) -> Finding:
    line = product.line
    row = product.left if _is_vocab(product.right) else product.right
    args = {
        "product": source_of(product),
        "row": source_of(row),
        "rows": (1 << 31) // VOCABULARY,
        "tokens": VOCABULARY,
    }
    return Finding(
        rule=ID,
        severity=Severity.QUESTION,
        confidence=Confidence.LOW,
        location=Location(delta.unit.path, line),
        message=Message("product", args),
        symbol=delta.head.qualname,
        subject=source_of(product),
        fix=_fix(product, row, delta, triton),
    )


def _fix(product: E.Binary, row: E.Expr, delta: ChangedFunction, triton: bool) -> Fix | None:
    text = delta.unit.text(product.line).rstrip("\r")
    if triton:
        wide = f"{source_of(row)}.to(tl.int64)" if isinstance(row, E.Name) else ""
    else:
        wide = f"static_cast<int64_t>({source_of(row)})"
    before, after = source_of(product), source_of(product).replace(source_of(row), wide, 1)
    if not wide or text.count(before) != 1 or row is not product.left:
        return None
    return Fix((Edit(delta.unit.path, product.line, product.line, (text.replace(before, after),)),))
