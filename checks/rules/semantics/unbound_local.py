"""A local is read before anything in its function can have set it.

## What it does

Follows every way through the functions of changed Python files, before and after the change: a read
of a local that no way sets before raises `UnboundLocalError` whenever it is reached. A name is a
local of the whole function when any line of it assigns or imports it.

## Why it matters

InternLM/lmdeploy@d76c29c9a wrote `vals = torch.from_numpy(vals)` in a method that has no other
`vals`: logprobs failed until #4132. An import inside of one branch does the same to the module's
import of that name in all the others.

## Example

```python
from kernels import gate

def top_k(x, fused):
    if fused:
        from fast_kernels import gate
        return gate(x)
    return gate(x)      # the local `gate`, which only the other branch imports
```

## Known limits

Where one way sets the local and another does not, nothing is said. A loop counts as if its body had
run before, and so does what `with` and `try` hold. What functions inside set by `nonlocal` is left
out, and functions that catch `NameError` are.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import changed_files
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Severity
from checks.lang.ir.source_file import SourceFile
from checks.lang.python.text import REFUSED
from checks.rules.semantics._local_flow import UnboundRead, unbound_reads

ID = "semantics.unbound-local"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each local of a function that the change left without a value."""
    for unit, base in changed_files(change, config, "python"):
        reads = _reads_of(unit)
        if not reads:
            continue
        known = set(_reads_of(base)) if base is not None else set()
        for place, read in reads.items():
            if place not in known:
                yield _finding(place[0], read, unit)


def _reads_of(unit: SourceFile) -> dict[tuple[str, str], UnboundRead]:
    """The first such read of each (function, local); none where the code is too deep."""
    found: dict[tuple[str, str], UnboundRead] = {}
    try:
        for node in ast.walk(ast.parse("\n".join(unit.lines))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for read in unbound_reads(node):
                    if not _is_caught(node, unit):
                        found.setdefault((node.name, read.name), read)
    except REFUSED:
        return {}
    return found


def _is_caught(node: ast.FunctionDef | ast.AsyncFunctionDef, unit: SourceFile) -> bool:
    """Whether the function reckons with names that have no value."""
    text = unit.text(node.lineno, node.end_lineno or node.lineno)
    return "NameError" in text or "UnboundLocalError" in text


def _finding(name: str, read: UnboundRead, unit: SourceFile) -> Finding:
    function = unit.function_at(read.line)
    return Finding.at(
        ID,
        Location(unit.path, read.line),
        "unbound",
        severity=Severity.BUG,
        confidence=Confidence.HIGH,
        symbol=function.qualname if function is not None else name,
        subject=read.name,
        name=read.name,
        function=name,
    )
