"""A message has `{name}` in it, and is no f-string: the reader sees the braces.

## What it does

On lines that the change wrote, in Python: texts that are logged, printed, raised or asserted with,
that hold `{name}` or `{self.name}` with a name of the function, and that nothing formats. Also the
parts without `f` of a message that goes over several lines.

## Why it matters

`sgl-project/sglang#6494` logged `"Warning: {name} not found in model parameters"`: of a weight that
was not loaded, the message did not say which.

## Example

```python
raise ValueError(f"{method} is not known, "
                 "use one of {known}")      # this part has no f
```

## Known limits

A message that is put together elsewhere is not looked at, and one with other values beside it is
left out, for the logger may format it.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Severity
from checks.domain.calls.names import bound_names
from checks.lang.ir import expr as E
from checks.lang.ir.stmt import Assert, ExprStmt, Raise, Stmt

ID = "semantics.unformatted-text"

_TELLING = re.compile(r"(?:^|[._])(?:log(?:ger|ging)?\.\w+|print|warnings\.warn)$", re.I)
_FIELD = re.compile(r"(?<!\{)\{(\w+)(?:\.\w+|\[\w+\]|\(\))*(?:![rsa])?(?::[^{}]*)?\}(?!\})")
_PLAIN_PREFIX = re.compile(r"[rRuU]?[\"']")


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each message."""
    for changed in changed_functions(change, config):
        if not changed.python or "{" not in changed.text:
            continue
        names = {param.name for param in changed.head.params} | bound_names(changed.head)
        for guarded in changed.statements:
            if changed.touched(guarded.stmt.line, guarded.stmt.end_line):
                yield from _unformatted(guarded.stmt, names, changed)


def _unformatted(stmt: Stmt, names: set[str], changed: ChangedFunction) -> Iterator[Finding]:
    if not _tells_somebody(stmt):
        return
    for line, text in _plain_texts(stmt, changed):
        field = next((field for field in _FIELD.finditer(text) if field[1] in names), None)
        if field is not None and changed.touched(line):
            yield changed.finding(
                ID,
                line,
                "braces",
                severity=Severity.SUGGESTION,
                confidence=Confidence.HIGH,
                field=field[0],
            )
            return


def _tells_somebody(stmt: Stmt) -> bool:
    """Whether the statement does nothing but show a message, as it stands, to people."""
    match stmt:
        case Raise(value=E.Call(keywords=())) | Assert():
            return True
        case ExprStmt(value=E.Call(func=func, args=(_,), keywords=())):
            return _TELLING.search(E.dotted(func) or "") is not None
        case _:
            return False


def _plain_texts(stmt: Stmt, changed: ChangedFunction) -> Iterator[tuple[int, str]]:
    """(line, text) of each literal that is no f-string, where nothing formats the message."""
    source = changed.unit.text(stmt.line, stmt.end_line)
    if ".format(" in source or ".replace(" in source or "%" in source:
        return
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source.strip()).readline))
    except (tokenize.TokenError, SyntaxError):
        return
    for token in tokens:
        if token.type == tokenize.STRING and _PLAIN_PREFIX.match(token.string):
            yield stmt.line + token.start[0] - 1, token.string
