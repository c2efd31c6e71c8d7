"""An environment variable's text is taken for a number, or for a yes or no.

## What it does

In Python that the change wrote, finds `os.environ.get` and `os.getenv` whose default is a number
while what is read goes on as it is, and local names that get such a value and are then calculated
or compared with numbers. Also those that `bool` asks, and conditions whose default is a text such
as `"0"`: every text but the empty one is true.

## Why it matters

`sgl-project/sglang#1456` wrote `max_workers=os.environ.get("SGLANG_CPU_COUNT", os.cpu_count())`:
it worked until somebody set the variable (#1803). `PaddlePaddle/FastDeploy#5571` read the sizes of
its memory segments this way, until #5892. `vllm-project/vllm` turned its OpenVINO quantisation on
for `VLLM_OPENVINO_ENABLE_QUANTIZED_WEIGHTS=0` as for `1`.

## Example

```python
port = os.getenv("SERVER_PORT")
if port is not None:
    port += 1                       # TypeError: the variable is text
```

## Known limits

A name that the file gives to `int`, `float`, `str` or `bool` anywhere, or asks about with
`isinstance`, counts as converted. What a call gets by position is not followed, and neither is what
a function returns.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import changed_files
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Severity
from checks.lang.ir.source_file import SourceFile
from checks.lang.python.text import REFUSED
from checks.rules.semantics._environment import TextFault, text_faults

ID = "semantics.environment-text"

# These are wrong whatever the variable says; the others only where somebody sets it.
_FAILING = frozenset({"used", "always"})
_READS = re.compile(r"\bgetenv\(|\benviron\.get\(")


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each reading, where it stands."""
    for unit, _ in changed_files(change, config, "python"):
        text = "\n".join(unit.lines)
        if not _READS.search(text):
            continue
        try:
            faults = list(text_faults(ast.parse(text)))
        except REFUSED:
            continue
        for fault in faults:
            if _is_new(fault, unit, change):
                yield _finding(fault, unit)


def _is_new(fault: TextFault, unit: SourceFile, change: ChangeSet) -> bool:
    """Whether the change wrote the reading, or what calculates with it."""
    if change.touches(unit.path, fault.line, fault.end_line):
        return True
    return fault.used_at > 0 and change.touches(unit.path, fault.used_at, fault.used_at)


def _finding(fault: TextFault, unit: SourceFile) -> Finding:
    function = unit.function_at(fault.line)
    return Finding.at(
        ID,
        Location(unit.path, fault.line, fault.end_line),
        fault.kind,
        severity=Severity.BUG if fault.kind in _FAILING else Severity.SUGGESTION,
        confidence=Confidence.HIGH,
        symbol=function.qualname if function is not None else "",
        subject=fault.variable,
        variable=fault.variable,
        at=Location(unit.path, fault.used_at or fault.line),
    )
