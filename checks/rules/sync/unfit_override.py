"""A call fits the method of the base class, and not that of a subclass which may run instead.

## What it does

For every call in a function that the change touched, and every call of a method that it altered,
looks at the methods of all subclasses that may run in the place of the one the call names, and
reports those that do not take what is passed.

## Why it matters

vllm-project/vllm#30014 gave the communicator's `dispatch` an argument `extra_tensors`; the base
class and the communicator of one hardware did not have it until #31644.

## Example

```python
class Device:
    def dispatch(self, rows, extra=None): ...    # the change added `extra`

class Metal(Device):
    def dispatch(self, rows): ...                # TypeError

def run(device: Device, rows):
    device.dispatch(rows, extra=None)
```

## Known limits

The object's class must be known, by annotation, assignment or constructor. Whether objects of the
subclass ever come here is not asked. A method that is abstract or only raises is left out, and so
is one whose own parameters the change altered, unless its objects inherit the method that makes the
call (`self.dispatch(...)`).
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.code import is_stub
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Related, Severity
from checks.domain.calls.binding import Misfit
from checks.domain.calls.misfits import WrongCall, wrong_calls
from checks.lang.ir.source_file import Function
from checks.lang.ir.stmt import Raise

ID = "sync.unfit-override"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each file with methods that do not take what a call passes."""
    reported: set[tuple[str, str, str]] = set()
    for wrong in wrong_calls(change, config):
        fault = wrong.fault
        if wrong.fits is None or not isinstance(fault, Misfit):
            continue
        if _fails_anyway(wrong.target.function):
            continue
        if wrong.site.own_method is None and _was_altered(wrong, change):
            continue
        cause = wrong.target.unit.path, fault.kind, fault.name
        if cause not in reported:
            reported.add(cause)
            yield _finding(wrong, fault)


def _was_altered(wrong: WrongCall, change: ChangeSet) -> bool:
    """Whether the change gave the method other parameters itself: whoever wrote them knew who calls
    it, and it was not left behind."""
    function, path = wrong.target.function, wrong.target.unit.path
    first = function.body[0].line if function.body else function.end_line
    return change.touches(path, function.start_line, max(function.start_line, first - 1))


def _fails_anyway(function: Function) -> bool:
    """Whether no call of the method comes to an end, whatever it passes: it is abstract, or does
    nothing but raise."""
    last = function.body[-1] if function.body else None
    return is_stub(function) and (isinstance(last, Raise) or _is_abstract(function))


def _is_abstract(function: Function) -> bool:
    return any("abstract" in mark for mark in function.marks)


def _finding(wrong: WrongCall, fault: Misfit) -> Finding:
    target = wrong.target
    site = Location(wrong.site.unit.path, wrong.site.call.line)
    name = target.function.qualname
    keys = {"missing": "missing", "unexpected": "unexpected", "doubled": "doubled", "many": "many"}
    finding = Finding.at(
        ID,
        Location(target.unit.path, target.function.start_line),
        keys[fault.kind],
        severity=Severity.SUGGESTION,
        confidence=Confidence.MEDIUM,
        symbol=name,
        subject=f"{name} {fault.kind} {fault.name}",
        name=name,
        argument=fault.name,
        given=fault.given,
        wanted=fault.wanted,
        at=site,
    )
    return finding.with_related(Related(site, Message("called-here", {"name": name})))
