"""An attribute that nobody reads is one letter apart from another of the same object.

## What it does

Looks at attributes that the change sets and that nothing in the tree reads. There is a finding
where the same file names of the same object an attribute that has one letter more or less, one
other letter, or two that changed places.

## Why it matters

The value is lost, and who needs it fails or goes on with an older one.
`PaddlePaddle/FastDeploy#3084` created `layer.wieght` and filled `layer.weight`, so that a quantised
model could not be loaded, until #3733. `sgl-project/sglang#8483` cleared `rpd_profiler_path` where
the file has `rpd_profile_path`, until #14131.

## Example

```python
def create(layer):
    layer.wieght = layer.create_parameter()      # nothing reads this

def load(layer, rows):
    layer.weight.set_value(rows)
```

## Known limits

Short names are left out, and so are pairs that differ in a number, in the `s` of a plural, or in
the first letter of a word (`num_cpu`, `num_gpu`). What a method reads of its own
object and no class of its family sets is `sync.unset-attribute`'s.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Related, Severity
from checks.core.words import one_slip_apart
from checks.domain.calls.attributes import Attributes
from checks.eval.interpreter.values import ClassRef
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import SourceFile
from checks.lang.ir.stmt import Assign

ID = "sync.misspelt-attribute"

_SHORTEST = 4
_OPERATOR = r"\s*(?::[^=\n]+)?=(?!=)"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each assignment."""
    for changed in changed_functions(change, config):
        if not changed.python:
            continue
        for guarded in changed.statements:
            stmt = guarded.stmt
            if not isinstance(stmt, Assign) or not isinstance(stmt.target, E.Attr):
                continue
            if changed.touched(stmt.line):
                yield from _findings(stmt, stmt.target, changed)


def _findings(stmt: Assign, target: E.Attr, changed: ChangedFunction) -> Iterator[Finding]:
    owner = E.dotted(target.base)
    if owner is None or len(target.name) < _SHORTEST:
        return
    meant = _meant(owner, target.name, changed.unit)
    if meant is None or _is_read(target.name, changed.change):
        return
    name, line = meant
    if _is_unset(target.base, name, changed):
        return
    finding = changed.finding(
        ID,
        stmt,
        "misspelt",
        severity=Severity.SUGGESTION,
        confidence=Confidence.HIGH,
        written=target.name,
        name=name,
    )
    place = Location(changed.unit.path, line)
    yield finding.with_related(Related(place, Message("named-here", {})))


def _meant(owner: str, written: str, unit: SourceFile) -> tuple[str, int] | None:
    """The attribute of `owner` one slip from `written` that the file names, with the line where it
    does."""
    named = re.compile(rf"(?<![\w.]){re.escape(owner)}\.(\w+)")
    for number in range(1, len(unit.lines) + 1):
        for name in named.findall(unit.text(number)):
            if _is_slip(written, name):
                return name, number
    return None


def _is_slip(written: str, name: str) -> bool:
    """Whether one may be written for the other, and does not just count something else."""
    if not one_slip_apart(written, name) or re.sub(r"\d", "", written) == re.sub(r"\d", "", name):
        return False
    # `lower` and `power` are two words, `num_cpu` and `num_gpu` two things.
    parts = set(written.split("_")) ^ set(name.split("_"))
    if len({part[:1] for part in parts}) > 1:
        return False
    return written.strip("_").rstrip("s") != name.strip("_").rstrip("s")


def _is_read(name: str, change: ChangeSet) -> bool:
    """Whether anything but an assignment to an attribute names it."""
    stored = re.compile(rf"\s*[\w.]+\.{name}{_OPERATOR}(?!.*\b{name}\b)")
    return any(not stored.match(found.text) for found in change.head.find(name))


def _is_unset(base: E.Expr, name: str, changed: ChangedFunction) -> bool:
    """Whether `sync.unset-attribute` speaks of what is read here."""
    if base != E.Name("self"):
        return False
    owners = changed.unit.classes_named.get(changed.head.owner, [])
    if len(owners) != 1:
        return False
    ref = ClassRef(owners[0], changed.unit)
    return Attributes.of_change(changed.change).certainly_lacks(ref, name)
