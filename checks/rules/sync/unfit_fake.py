"""The function that tells a compiler an op's shapes takes other parameters than the op.

## What it does

Looks at ops that are registered in Python with a second function for their shapes (`fake_impl`,
`infer_meta`, `register_fake`), of which the change altered one. Reports where one of the two takes
more parameters than the other.

## Why it matters

PaddlePaddle/FastDeploy@5e54770b2 gave a mixture of experts three parameters more, in the op and
in its shape function: with the second forgotten, everything runs until a graph is captured.

## Example

```python
def pad_fake(x, rows):              # the change gave pad() `lens`, and this not
    return torch.empty_like(x)

direct_register_custom_op(op_name="pad", op_func=pad, fake_impl=pad_fake)
```

## Known limits

Both functions have to stand in one file, each once, without `*args`. Other names or another order
are not reported: shapes seldom depend on more than the first parameters.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.changed import changed_files
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Related, Severity
from checks.lang.ir.source_file import Function, Param, SourceFile
from checks.lang.python.text import REFUSED

ID = "sync.unfit-fake"

_FAKES = ("fake_impl", "infer_meta")
_MARKS = ("register_fake", "impl_abstract")


@dataclass(frozen=True, slots=True)
class _Pair:
    """An op and its shape function."""

    op: Function
    fake: Function

    @property
    def difference(self) -> tuple[str, ...]:
        """The parameters that only one of the two has, where their numbers differ."""
        op, fake = self.op.params, self.fake.params
        takes_any = any(param.kind in ("args", "kwargs") for param in (*op, *fake))
        if takes_any or len(op) == len(fake):
            return ()
        shorter, longer = sorted((op, fake), key=len)
        return tuple(param.name for param in longer if not _is_among(param.name, shorter))


def _is_among(name: str, params: Sequence[Param]) -> bool:
    return any(_is_same(name, param.name) for param in params)


def _is_same(name: str, other: str) -> bool:
    """Whether two parameters are one by their names: `rows` and `rows_meta`."""
    return name == other or name.startswith(f"{other}_") or other.startswith(f"{name}_")


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each shape function that does not fit since the change."""
    for unit, base in changed_files(change, config, "python"):
        unfit = [pair for pair in _pairs(unit) if pair.difference]
        if not unfit:
            continue
        before = {} if base is None else {pair.op.name: pair.difference for pair in _pairs(base)}
        for pair in unfit:
            if before.get(pair.op.name) != pair.difference:
                yield _finding(pair, unit)


def _pairs(unit: SourceFile) -> Iterator[_Pair]:
    """The ops of a file that have a shape function there."""
    if not any(word in line for line in unit.lines for word in (*_FAKES, *_MARKS)):
        return
    try:
        names = list(_named_pairs(ast.parse("\n".join(unit.lines))))
    except REFUSED:
        return
    for op, fake in names:
        ops, fakes = unit.named(op), unit.named(fake)
        if len(ops) == 1 and len(fakes) == 1:
            yield _Pair(ops[0], fakes[0])


def _named_pairs(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """(op, shape function) by name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            op = _named_argument(node, ("op_func",))
            fake = _named_argument(node, _FAKES)
            if op and fake:
                yield op, fake
        elif isinstance(node, ast.FunctionDef):
            for mark in node.decorator_list:
                yield from _marked_pairs(mark, node.name)


def _marked_pairs(mark: ast.expr, name: str) -> Iterator[tuple[str, str]]:
    """`@register(fake_impl=f)` above the op, or `@op.register_fake` above the shape function."""
    if not isinstance(mark, ast.Call):
        owner = mark.value if isinstance(mark, ast.Attribute) and mark.attr in _MARKS else None
        if isinstance(owner, ast.Name):
            yield owner.id, name
        return
    fake = _named_argument(mark, _FAKES)
    if fake:
        yield name, fake


def _named_argument(call: ast.Call, names: tuple[str, ...]) -> str:
    for keyword in call.keywords:
        if keyword.arg in names and isinstance(keyword.value, ast.Name):
            return keyword.value.id
    return ""


def _finding(pair: _Pair, unit: SourceFile) -> Finding:
    place = Location(unit.path, pair.op.start_line)
    return Finding.at(
        ID,
        Location(unit.path, pair.fake.start_line),
        "unfit",
        severity=Severity.SUGGESTION,
        confidence=Confidence.HIGH,
        symbol=pair.fake.qualname,
        subject=f"{pair.op.name} {' '.join(pair.difference)}",
        fake=pair.fake.name,
        op=pair.op.name,
        names=pair.difference,
        more=len(pair.op.params) > len(pair.fake.params),
    ).with_related(Related(place, Message("op-here", {})))
