"""A name is used on all hardware and imported on some only.

## What it does

Finds names that changed code calls without asking for the hardware, and that the file imports only
in some branches of a hardware switch (`if current_platform.is_cuda(): from ... import f`).

## Why it matters

PaddlePaddle/FastDeploy@a09792e08 called `update_attn_mask_offsets` in a class that the runners of
DCU and Iluvatar inherit, and whose import branches for them did not have it; d595e04ca added it for
Iluvatar.

## Example

```python
if current_platform.is_metax():
    from engine.ops.metax import recover
else:
    from engine.ops.gpu import mask, recover

def prepare(x):
    mask(x)            # new: NameError on Metax
```

## Known limits

Only hardware is named that could get to the call before: it did not lack another name on the way,
and nothing refuses the feature there. What is used under an option that this hardware never has on
cannot be told, so all of it is for the pedantic persona: of four that were read on commits by
chance none was useful.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Definition, Finding, Location, Message, Severity
from checks.domain.hardware_reach import is_refused
from checks.domain.ops import calls_of
from checks.domain.siblings import base_unit
from checks.domain.source_search import (
    changed_python_functions,
    code_line,
)
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, Import, SourceFile
from checks.rules.sync import method_replacement, return_arity, unchecked_none
from checks.rules.sync._call_rules import ARGUMENT_RULES
from checks.rules.sync._line_priority import one_per_line
from checks.rules.sync._platform_imports import PlatformImports
from checks.rules.sync._platform_reach import CallOnAllHardware, FileBefore

ID = "sync.platform-only-import"

_EARLIER_RULES = (*ARGUMENT_RULES, unchecked_none, return_arity, method_replacement)


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each call of a name that some hardware lacks."""
    yield from one_per_line(_findings(change, config), change, config, _EARLIER_RULES)


def _findings(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for _, head, unit in changed_python_functions(change, config):
        imports = PlatformImports.of(unit)
        text = unit.text_of(head)
        if not any(name in text for name in imports.by_name):
            continue
        if imports.defines_for_hardware(head) or _is_unused(head, unit):
            continue
        before = _file_before(head.path, change)
        for call, guards in calls_of(head.body):
            name = call.func.id if isinstance(call.func, E.Name) else ""
            if name not in imports.by_name or not change.touches(unit.path, call.line, call.line):
                continue
            site = CallOnAllHardware(name, guards, head, unit)
            lacking = _hardware_that_fails(site, imports, before, change, config)
            if lacking:
                yield _finding(call, lacking, site, imports.by_name[name])


def _file_before(path: str, change: ChangeSet) -> FileBefore | None:
    old_unit = base_unit(path, change)
    return FileBefore(old_unit, PlatformImports.of(old_unit)) if old_unit is not None else None


def _hardware_that_fails(
    site: CallOnAllHardware,
    imports: PlatformImports,
    before: FileBefore | None,
    change: ChangeSet,
    config: Config,
) -> list[str]:
    """The hardware that gets to the call and lacks its name."""
    failing: list[str] = []
    for hardware in imports.hardware_without(site.name, site.guards):
        if before is not None and before.kept_away(hardware, site):
            continue
        if not is_refused(site.guards, hardware, change, config):
            failing.append(hardware)
    return failing


def _is_unused(function: Function, unit: SourceFile) -> bool:
    """Whether a private function stands there unused.

    Its file names it nowhere else, or in comments alone.
    """
    if not re.match("_[^_]", function.name):
        return False
    return sum(function.name in line.partition("#")[0] for line in unit.lines) == 1


def _finding(
    call: E.Call, lacking: list[str], site: CallOnAllHardware, imports: list[Import]
) -> Finding:
    place = Location(site.unit.path, min(item.line for item in imports))
    args = {"name": site.name, "hardware": lacking, "at": place}
    code = code_line(site.unit, place.start_line)
    return Finding(
        rule=ID,
        severity=Severity.SUGGESTION,
        confidence=Confidence.MEDIUM,
        location=Location(site.unit.path, call.line),
        message=Message("unbound", args),
        symbol=site.function.qualname,
        subject=site.name,
        evidence=(Definition(site.name, place, imports[0].guard, code),),
        pedantic=True,
    )
