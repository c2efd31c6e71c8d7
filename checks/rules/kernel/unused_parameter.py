"""A parameter lost its last use, or never had one.

## What it does

Compares every changed function before and after: a parameter that had an effect and is used no more
while callers go on passing it, an attribute that an op takes and ignores although the op of the
same name on other hardware honours it.

## Why it matters

PaddlePaddle/FastDeploy#7192 replaced a test of `save_each_rank` by `rank_id > 0`; every caller
still computes and passes it. #4748 took `accept_all_drafts` on XPU and ignored it.

## Example

```cpp
void Save(const Tensor& ids, int rank_id, bool each_rank) {
  if (rank_id > 0) return;      // was: !each_rank && rank_id > 0
```

## Known limits

A use is a whole word outside comments and strings, in the function or in a macro of its file.
Parameters of functions other than ops, of methods that other classes define under the same name,
and parameters that never had an effect are for the pedantic persona: they are only left over, an
interface may ask for them, or nobody misses what they did. A tensor that other hardware's op reads
is not asked about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.code import is_stub
from checks.core.config import Config
from checks.core.finding import (
    Confidence,
    Evidence,
    Finding,
    Location,
    Message,
    Related,
    Severity,
    Sibling,
)
from checks.core.words import has_word
from checks.domain.ops import Ops
from checks.lang.ir.source_file import Param, SourceFile
from checks.rules.kernel._parameter_uses import (
    has_effect,
    honouring_copy,
    passing_call,
    used_code,
)
from checks.rules.kernel._thread_divergence import is_triton

ID = "kernel.unused-parameter"

# Shape and type inference takes the parameters of its op, whether it needs them or not.
_INFERENCE = re.compile(r"Infer(Shape|D?[tT]ype|Meta)|(Shape|D[tT]ype)$")
_CONVENTIONAL = frozenset({"self", "cls", "args", "kwargs"})


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for changed in changed_functions(change, config):
        if _is_judged(changed):
            yield from _unused_parameters(changed, change, config)


def _is_judged(changed: ChangedFunction) -> bool:
    head = changed.head
    if not head.clean or _INFERENCE.search(head.name):
        return False
    return not _is_overloaded(changed) and not is_stub(head)


def _is_overloaded(changed: ChangedFunction) -> bool:
    """Several functions of this name in one file: which of them became which is not certain."""
    for unit in (changed.unit, changed.base_unit):
        if unit is None:
            continue
        if len(unit.functions_named.get(changed.head.qualname, ())) > 1:
            return True
    return False


def _unused_parameters(
    changed: ChangedFunction, change: ChangeSet, config: Config
) -> Iterator[Finding]:
    body = used_code(changed.head, changed.code, changed.unit)
    # `locals()` reads every parameter without naming it.
    if re.search(r"\blocals\s*\(", body):
        return
    lost: list[Param] = []
    added: list[Param] = []
    new: list[Param] = []
    for param in changed.head.params:
        if not _is_meant_for_use(param) or has_word(body, param.name):
            continue
        if changed.base is None:
            new.append(param)
        elif param.name not in {p.name for p in changed.base.params}:
            added.append(param)
        elif _had_effect(param, changed):
            lost.append(param)
    if lost:
        yield _lost_finding(lost, changed, change, config)
    # Where the class is chosen at run time, one call makes any of several.
    if added and not _others_take(added, changed, change):
        yield _added_finding(added, changed, change)
    if new:
        yield from _new_findings(new, changed, change)


def _had_effect(param: Param, changed: ChangedFunction) -> bool:
    """Whether the function did something with the parameter before the change."""
    if changed.base is None or changed.base_unit is None:
        return False
    return has_effect(param.name, changed.base, changed.base_unit)


def _is_meant_for_use(param: Param) -> bool:
    if not param.name or param.name.startswith("_") or param.name in _CONVENTIONAL:
        return False
    if "maybe_unused" in param.type:
        return False
    return param.kind in ("positional", "keyword")


def _lost_finding(
    params: list[Param], changed: ChangedFunction, change: ChangeSet, config: Config
) -> Finding:
    """Parameters whose last use the change removed."""
    passed = passing_call(params[0], changed, change, config)
    is_minor = (
        passed is None
        or _is_interface(changed, change)
        # In Python, what a rewritten function has no need of any more is left over: of 13 that were
        # read on commits by chance none would have been mended.
        or not Ops.of(change).of_function(changed.head)
    )
    return _finding("lost", params, changed, passed, pedantic=is_minor)


def _added_finding(params: list[Param], changed: ChangedFunction, change: ChangeSet) -> Finding:
    """Parameters that the change added to a function that was there."""
    copy = _honouring_copy(params[0], changed, change)
    key = "ignored" if copy is not None else "new"
    is_minor = copy is None or _is_interface(changed, change)
    return _finding(key, params, changed, copy, pedantic=is_minor)


def _new_findings(
    params: list[Param], changed: ChangedFunction, change: ChangeSet
) -> Iterator[Finding]:
    """Unused parameters of a new function: worth a word where the op's copy honours them."""
    for param in params:
        copy = _honouring_copy(param, changed, change)
        if copy is not None:
            yield _finding("ignored", [param], changed, copy, pedantic=False)
    if "__global__" in changed.head.marks or is_triton(changed.head):
        yield _finding("new", params, changed, None, pedantic=True)


def _honouring_copy(param: Param, changed: ChangedFunction, change: ChangeSet) -> Sibling | None:
    """The same op on other hardware, where it reads the attribute that this one ignores.

    A tensor belongs to a feature that this hardware may not have.
    """
    return None if "Tensor" in param.type else honouring_copy(param, changed, change)


def _is_interface(changed: ChangedFunction, change: ChangeSet) -> bool:
    """Whether others define a method of this name: the parameter may be there for them."""
    head = changed.head
    if not changed.python:
        return "virtual" in head.marks or "override" in head.marks
    if not head.owner or head.name == "__init__":
        return False
    start = f"def {head.name}("
    hits = change.head.find(head.name)
    return sum(hit.text.lstrip().startswith(start) for hit in hits) > 1


def _others_take(params: list[Param], changed: ChangedFunction, change: ChangeSet) -> bool:
    """Whether a class of the same base takes these in its constructor too.

    One call makes any of them, so the parameters must be there.
    """
    if changed.head.name != "__init__":
        return False
    bases = _bases(changed.head.owner, changed.unit)
    if not bases:
        return False
    wanted = {p.name for p in params}
    for path in change.head.paths_containing(params[0].name, "python"):
        unit = change.unit(path) if path != changed.unit.path else None
        if unit is None:
            continue
        for function in unit.named("__init__"):
            taken = {p.name for p in function.params}
            if wanted <= taken and bases & _bases(function.owner, unit):
                return True
    return False


def _bases(name: str, unit: SourceFile) -> set[str]:
    """The base classes of the class `name` of a file."""
    for known in unit.classes:
        if known.name == name:
            return set(known.bases)
    return set()


def _finding(
    key: str,
    params: list[Param],
    changed: ChangedFunction,
    shown: Related | Sibling | None,
    *,
    pedantic: bool,
) -> Finding:
    names = [p.name for p in params]
    evidence: tuple[Evidence, ...] = (shown,) if isinstance(shown, Sibling) else ()
    related = (shown,) if isinstance(shown, Related) else ()
    args = {
        "names": names,
        "function": changed.head.name,
        "at": shown.location if shown is not None else None,
    }
    return Finding(
        rule=ID,
        severity=Severity.SUGGESTION,
        confidence=Confidence.MEDIUM if key == "new" else Confidence.HIGH,
        location=Location(changed.unit.path, params[0].line or changed.head.start_line),
        message=Message(key, args),
        symbol=changed.head.qualname,
        subject=" ".join(names),
        evidence=evidence,
        related=related,
        pedantic=pedantic,
    )
