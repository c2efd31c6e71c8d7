"""A text has another number of places than values are put into it.

## What it does

On lines that the change wrote, in Python: counts the places of a literal text and the values given
to it, in log calls (`logger.info("%s of %s", a)`), `"..." % (...)`, `"...".format(...)`, and in
exceptions that get a text with places and the values beside it.

## Why it matters

`vllm-project/vllm#20570` wrote `logger.debug("Initialized config", config)`: the message is lost,
and logging writes a traceback instead, until #21280. The other two forms raise an exception, often
only where an error is being reported.

## Example

```python
logger.debug("Initialized config", config)          # no place for `config`
raise ValueError("no such method: %s", method)      # is never put in
```

## Known limits

Only literal texts are read. Log calls with `{` in the text are left out, for there are loggers that
format that way, and so are places with names and arguments behind `*`.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Severity
from checks.domain.ops import statement_expressions
from checks.lang.ir import expr as E
from checks.rules.semantics._formats import Misfit, misfit_of

ID = "semantics.unfit-format"

# These raise an exception; the others lose a message or leave it as it is.
_FAILING = frozenset({"percent", "braces"})


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each text."""
    for changed in changed_functions(change, config):
        if changed.python:
            yield from _unfit_texts(changed)


def _unfit_texts(changed: ChangedFunction) -> Iterator[Finding]:
    for guarded, expressions in statement_expressions(changed.head.body):
        for expr in expressions:
            misfit = misfit_of(expr)
            if misfit is not None and _is_new(expr, guarded.stmt.line, changed):
                yield _finding(misfit, expr.line or guarded.stmt.line, changed)


def _is_new(expr: E.Expr, stmt_line: int, changed: ChangedFunction) -> bool:
    lines = [part.line for part in E.walk(expr) if part.line] or [stmt_line]
    return changed.touched(min(lines), max(lines))


def _finding(misfit: Misfit, line: int, changed: ChangedFunction) -> Finding:
    return changed.finding(
        ID,
        line,
        misfit.kind,
        severity=Severity.BUG if misfit.kind in _FAILING else Severity.SUGGESTION,
        confidence=Confidence.HIGH,
        text=misfit.text,
        places=misfit.places,
        values=misfit.values,
    )
