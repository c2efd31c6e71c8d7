"""A call leaves out an optional parameter, and its default None is used without a check.

## What it does

For calls that the change wrote, and calls of Python functions that now take or need other
arguments, looks at each parameter with the default None that the call leaves out. Where the
function, or one that it passes the parameter to, opens, indexes or iterates it without looking at
it first, the call raises an exception.

## Why it matters

Since PaddlePaddle/FastDeploy@5fc12eddf the sampler reads its `fd_config` at once; the runners of
GCU and HPU built it without one: `AttributeError`. 74f33efdb passes it on HPU.

## Example

```python
class Sampler:
    def __init__(self, config=None):
        self.size = config.size        # new

Sampler()                              # AttributeError
```

## Known limits

What is used under a state (`if self.ranks > 1`), another option (`if mask is not None`) or for a
kind of value is left out, and so is what a loop uses, which may run no times. A parameter is
followed through two calls. A call that failed before the change already is no news.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Definition, Finding, Location, Message, Severity, Side
from checks.domain.calls.binding import find_misfit
from checks.domain.calls.sites import CallSite
from checks.domain.calls.targets import CallTarget, CallTargets, called_name
from checks.domain.ops import arguments
from checks.domain.source_search import code_line
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function
from checks.rules.sync._call_rules import ARGUMENT_RULES
from checks.rules.sync._checked_calls import calls_with_options
from checks.rules.sync._line_priority import one_per_line
from checks.rules.sync._none_uses import opens_field, unchecked_use_through_calls

ID = "sync.unchecked-none"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each call.

    Where its arguments do not fit at all, another rule says so.
    """
    findings = _findings(change, config)
    yield from one_per_line(findings, change, config, ARGUMENT_RULES)


def _findings(change: ChangeSet, config: Config) -> Iterator[Finding]:
    targets = CallTargets.of_change(change)
    for site in calls_with_options(change, config):
        # A launch gets the constants that it leaves out from the kernel's tuning.
        if E.starred(site.call) or isinstance(site.call.func, E.Index):
            continue
        target = targets.of(site.call, site.function, site.unit)
        if target is None or find_misfit(site.call, target.params) is not None:
            continue
        passed = arguments(site.call, tuple(p.name for p in target.params))
        if _failed_before(target, set(passed), change):
            continue
        for parameter in target.params:
            if parameter.name in passed or parameter.default != E.Const(None):
                continue
            use = unchecked_use_through_calls(target, parameter.name, targets)
            if use is not None and _is_new(use, parameter.name, target, change):
                yield _finding(site, parameter.name, target, use, change)


def _failed_before(target: CallTarget, passed: set[str], change: ChangeSet) -> bool:
    """Whether the function opened a field made of a parameter that the call leaves out before the
    change already: what the call fails of now is no news."""
    for function in _old_functions(target, change):
        for parameter in function.params:
            is_left_out = parameter.name not in passed and parameter.default == E.Const(None)
            if is_left_out and opens_field(function, parameter.name):
                return True
    return False


def _old_functions(target: CallTarget, change: ChangeSet) -> list[Function]:
    """The function as it was before, where the change touches its file."""
    file = change.changed(target.unit.path)
    if file is None or not file.base_path:
        return []
    unit = change.unit(file.base_path, Side.BASE)
    return unit.named(target.function.qualname) if unit is not None else []


def _is_new(use: Location, name: str, target: CallTarget, change: ChangeSet) -> bool:
    """Whether the change wrote the use, or brought the parameter."""
    if change.touches(use.path, use.start_line, use.end_line):
        return True
    old_functions = _old_functions(target, change)
    had_parameter = any(p.name == name for function in old_functions for p in function.params)
    return bool(old_functions) and not had_parameter


def _finding(
    site: CallSite, argument: str, target: CallTarget, use: Location, change: ChangeSet
) -> Finding:
    name = called_name(target.function)
    args = {"name": name, "argument": argument, "at": use, "given": 0, "wanted": 0}
    code = code_line(change.unit(use.path), use.start_line)
    return Finding(
        rule=ID,
        severity=Severity.BUG,
        confidence=Confidence.HIGH,
        location=Location(site.unit.path, site.call.line),
        message=Message("none", args),
        symbol=site.function.qualname,
        subject=f"{name} {argument}",
        evidence=(Definition(argument, use, "None", code),),
    )
