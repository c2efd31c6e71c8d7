"""A coroutine calls something that lets its whole thread wait.

## What it does

Looks at calls that the change wrote into `async def` functions: `time.sleep`, the requests of
`requests` and `urllib`, and programs that `subprocess` or `os` waits for.

## Why it matters

While such a call waits, no other coroutine of the event loop runs: every request of the server
stands still. `PaddlePaddle/FastDeploy#4220` slept ten seconds this way between two attempts
to decode a request, until #5461.

## Example

```python
async def decode(client, request):
    while not await client.is_ready(request):
        time.sleep(10)                   # asyncio.sleep lets the others go on
```

## Known limits

What a function that is called does itself is not followed. Programs that measure (`bench*`) and
handlers of a server's start are left out: nothing else runs there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.benchmarks import is_benchmark
from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.code import local_assignments
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Severity
from checks.domain.ops import statement_expressions
from checks.lang.ir import expr as E

ID = "semantics.blocking-call"

_REQUESTS = ("get", "post", "put", "patch", "delete", "head", "options", "request")
_PROGRAMS = ("run", "call", "check_call", "check_output", "getoutput", "getstatusoutput")
_BLOCKING = frozenset(
    {"time.sleep", "os.system", "urllib.request.urlopen"}
    | {f"requests.{name}" for name in _REQUESTS}
    | {f"subprocess.{name}" for name in _PROGRAMS}
)

_AT_START = re.compile(r"\.on_event\(\s*[\"']startup[\"']")


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each statement."""
    for changed in changed_functions(change, config):
        if not changed.python or not _has_company(changed):
            continue
        for guarded, expressions in statement_expressions(changed.head.body):
            stmt = guarded.stmt
            if not changed.touched(stmt.line, stmt.end_line):
                continue
            name = _blocking(expressions, changed)
            if name:
                yield changed.finding(
                    ID,
                    stmt,
                    "waits",
                    severity=Severity.SUGGESTION,
                    confidence=Confidence.HIGH,
                    name=name,
                    function=changed.head.name,
                )


def _has_company(changed: ChangedFunction) -> bool:
    """Whether it is a coroutine beside which others may run."""
    if is_benchmark(changed.unit.path):
        return False
    marks = changed.head.marks
    return "async" in marks and not any(_AT_START.search(mark) for mark in marks)


def _blocking(expressions: list[E.Expr], changed: ChangedFunction) -> str:
    """The first call that waits; empty where there is none."""
    for expr in expressions:
        if not isinstance(expr, E.Call):
            continue
        name = E.dotted(expr.func) or ""
        line = expr.line or changed.head.start_line
        if name in _BLOCKING and changed.touched(line) and _is_module(name, changed):
            return name
    return ""


def _is_module(name: str, changed: ChangedFunction) -> bool:
    """Whether the first word of `name` is the module: engines call their requests `requests`."""
    root = name.split(".")[0]
    own = {param.name for param in changed.head.params}
    own.update(local for local, _ in local_assignments(changed.statements))
    imports = changed.unit.imports_named.get(root, [])
    is_imported = any(item.module.split(".")[0] == root and not item.name for item in imports)
    return is_imported and root not in own
