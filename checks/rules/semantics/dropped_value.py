"""A value is worked out and dropped: the statement does nothing.

## What it does

In Python that the change wrote: a statement that is only a comparison, or only the call of a method
of text or tensors that changes nothing and returns something new (`text.strip()`,
`x.contiguous()`).

## Why it matters

`sgl-project/sglang#10700` wrote `pybase64.b64encode(output).decode("utf-8")` where `output =` had
stood before it: bytes were sent instead of text, until #11958.

## Example

```python
if as_text:
    base64.b64encode(data).decode("utf-8")      # data stays bytes
return data
```

## Known limits

Methods that a class of the tree defines too are left out, and so are those that are called to wait
for a device (`item()`, `tolist()`, `cpu()`).
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import changed_functions
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Severity
from checks.lang.ir import expr as E
from checks.lang.ir.stmt import ExprStmt

ID = "semantics.dropped-value"

_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">=", "is", "is-not", "in", "not-in"})
_TEXT_METHODS = frozenset(
    {"strip", "lstrip", "rstrip", "lower", "upper", "casefold", "removeprefix", "removesuffix"}
    | {"splitlines", "rsplit", "zfill", "ljust", "rjust"}
)
_TENSOR_METHODS = frozenset(
    {"contiguous", "clone", "unsqueeze", "squeeze", "reshape", "permute", "masked_fill"}
    | {"index_select", "expand_as", "view_as", "type_as", "astype"}
)
# With the name of a coding only: engines encode and decode other things.
_CODING_METHODS = frozenset({"encode", "decode"})
_CODINGS = frozenset({"utf-8", "utf8", "ascii", "latin-1", "latin1", "utf-16"})


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for changed in changed_functions(change, config):
        if not changed.python:
            continue
        for guarded in changed.statements:
            stmt = guarded.stmt
            if not isinstance(stmt, ExprStmt) or not changed.touched(stmt.line, stmt.end_line):
                continue
            key = _dropped(stmt.value, change)
            if key:
                yield changed.finding(
                    ID,
                    stmt,
                    key,
                    severity=Severity.BUG if key == "comparison" else Severity.SUGGESTION,
                    confidence=Confidence.HIGH,
                    name=_method_name(stmt.value),
                )


def _dropped(value: E.Expr, change: ChangeSet) -> str:
    """The message for a value that nobody gets; empty where the statement may do something."""
    if isinstance(value, E.Binary) and value.op in _COMPARISONS:
        return "comparison"
    if _makes_anew(value) and not _is_defined(_method_name(value), change):
        return "method"
    return ""


def _method_name(value: E.Expr) -> str:
    match value:
        case E.Call(func=E.Attr(name=name)):
            return name
        case _:
            return ""


def _makes_anew(value: E.Expr) -> bool:
    """Whether the value is what a method of text or tensors returns, which changes nothing."""
    match value:
        case E.Call(keywords=keywords) if any(name == "out" for name, _ in keywords):
            return False
        case E.Call(func=E.Attr(base=base, name=name)) if name in _TEXT_METHODS | _TENSOR_METHODS:
            # A call before it may have been made for what it does: `rows.copy_(other).reshape(n)`.
            return not any(isinstance(part, E.Call) for part in E.walk(base))
        case E.Call(func=E.Attr(name=name), args=(E.Const(value=str() as coding), *_)):
            return name in _CODING_METHODS and coding.lower() in _CODINGS
        case E.Call(func=E.Attr(base=E.Const(value=str()))):
            return True
        case _:
            return False


def _is_defined(name: str, change: ChangeSet) -> bool:
    """Whether a class of the tree has a method of this name, which may do anything."""
    if name in _CODING_METHODS:
        return False
    return change.head.contains(f"def {name}")
