"""An attribute was renamed on one hardware and keeps its old name on others.

## What it does

Finds attributes of `self` that the change renamed in the runner of one hardware: the same value
went from `self.a` to `self.b`. Names the runners of other hardware that still give that value to
`self.a`.

## Why it matters

PaddlePaddle/FastDeploy@cf7934a4b renamed `speculative_method` in the GPU runner; the runners of
GCU, HPU, Metax and XPU kept the old name for the same value. XPU followed in #7180.

## Example

```python
# gpu_model_runner.py, changed
self.spec_method = config.speculative.method
# metax_model_runner.py, as it was
self.speculative_method = config.speculative.method
```

## Known limits

Only values of at least three names or constants are compared: shorter ones are the same by chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Severity, Sibling
from checks.domain.copies.symbols import count_symbols
from checks.domain.siblings import changed_functions_with_siblings, sibling_files
from checks.domain.source_search import code_line, functions_matching, whole_word
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, guarded_statements

ID = "sync.renamed-attribute"

LEAST_SYMBOLS = 3


@dataclass(frozen=True, slots=True)
class AttributeValue:
    """`self.name = value` on `line`."""

    name: str
    value: E.Expr
    line: int


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each renamed attribute whose old name a sibling keeps."""
    for base, head, _ in changed_functions_with_siblings(change, config):
        unit = change.unit(head.path)
        if unit is None:
            continue
        for old_name, attribute in _renamed_attributes(base, head, change):
            siblings: list[Sibling] = []
            for path in sibling_files(head.path, change, config):
                sibling = _sibling_with_old_name(old_name, attribute.value, path, change, config)
                if sibling is not None:
                    siblings.append(sibling)
            if siblings:
                yield _finding(attribute, old_name, siblings, head, unit)


def _renamed_attributes(
    base: Function, head: Function, change: ChangeSet
) -> Iterator[tuple[str, AttributeValue]]:
    """(old name, attribute) of each that has the value of one that is gone."""
    touched = [a for a in _attributes(head) if change.touches(head.path, a.line, a.line)]
    if not touched:
        return
    # The last value of each name counts.
    before = {attribute.name: attribute for attribute in _attributes(base)}
    after = {attribute.name: attribute for attribute in _attributes(head)}
    for name, attribute in sorted(after.items()):
        if name in before or attribute not in touched:
            continue
        # Two attributes that had the value leave open which of them was renamed.
        old_names = [
            old.name
            for old in before.values()
            if old.name not in after and old.value == attribute.value
        ]
        if len(old_names) == 1:
            yield old_names[0], attribute


def _attributes(function: Function) -> Iterator[AttributeValue]:
    """The attributes of `self` that get a value which two files do not share by chance."""
    for guarded in guarded_statements(function.body):
        match guarded.stmt:
            case Assign(target=E.Attr(base=E.Name(id="self"), name=name), op="=", value=value):
                if value is not None and count_symbols(value) >= LEAST_SYMBOLS:
                    yield AttributeValue(name, value, guarded.stmt.line)
            case _:
                pass


def _sibling_with_old_name(
    old_name: str, value: E.Expr, path: str, change: ChangeSet, config: Config
) -> Sibling | None:
    """The first place of the file that gives the same value to the old name."""
    unit = change.unit(path)
    if unit is None:
        return None
    for function in functions_matching(whole_word(f"self.{old_name}"), unit):
        for attribute in _attributes(function):
            if attribute.name == old_name and attribute.value == value:
                place = Location(path, attribute.line)
                hardware = config.hardware_of(path)
                keeps_name = Message("old-name", {"name": old_name})
                excerpt = code_line(unit, attribute.line)
                return Sibling(place, function.qualname, hardware, keeps_name, excerpt)
    return None


def _finding(
    attribute: AttributeValue,
    old_name: str,
    siblings: list[Sibling],
    function: Function,
    unit: SourceFile,
) -> Finding:
    hardware = sorted({s.hardware or s.location.path for s in siblings})
    args = {"name": attribute.name, "was": old_name, "hardware": hardware}
    return Finding(
        rule=ID,
        severity=Severity.QUESTION,
        confidence=Confidence.HIGH,
        location=Location(unit.path, attribute.line),
        message=Message("renamed", args),
        symbol=function.qualname,
        subject=f"{old_name} {attribute.name}",
        evidence=tuple(siblings),
    )
