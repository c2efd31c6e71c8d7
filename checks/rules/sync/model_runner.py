"""A change altered one hardware's copy of a function, and the copies on other hardware keep the
old form.

## What it does

Pairs the files of a family (`[[family]]` of the configuration, else files whose paths differ only
in the name of a hardware) and their functions (by name, else by how alike they read). Compares what
a function does before and after the change: values assigned, arguments of calls, conditions, and
the members of an enum that a branch knows. Where a sibling still does what the changed function did
before, its lines are named; siblings that need nothing are listed with the reason.

## Why it matters

PaddlePaddle/FastDeploy#7884 let the GPU runner use the width of top logprobs that was asked for;
the Metax runner kept the same statement with its 20. #5399 passed a new field to `ModelOutputData`
in two runners of three.

## Example

```python
# gpu_model_runner.py, changed: the limit of 20 is gone
self.max_logprobs = max(wanted)
# metax_model_runner.py, as it was
self.max_logprobs = max(wanted) if not self.speculative_decoding else 20
```

## Known limits

What a change only adds (a new statement, a new method) has no old form to look for, and statements
that it removed are not followed. A copy whose form differed before the change is left alone. What
the new form needs and a sibling does not have at all (an attribute, a key) counts as a feature that
is not there, unless most copies have it and it is never None. A sibling whose own value this change
altered is taken to follow, and so is one on whose hardware nothing reads what came, or the key that
it fills. A value that only got a name, or is reached through another object, conditions that were
joined to one, and a value that the file now keeps as a list for itself are no alterations. What a
function answers about an enum (`return method in [...]`) says what its hardware supports.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Edit, Finding, Fix, Location, Message, Severity, Sibling
from checks.domain.copies.alterations import Alteration, alterations
from checks.domain.copies.exemptions import keeps_kind, places_of_other_kind
from checks.domain.copies.prerequisites import asks_hardware, missing_names
from checks.domain.copies.refactors import is_only_rerouted, is_refactor
from checks.domain.copies.stale_copy import StaleCopy
from checks.domain.copies.stale_copy_groups import (
    Aspect,
    aspect_of,
    group_copies,
    one_per_statement,
    prominence,
)
from checks.domain.copies.stale_copy_search import StaleCopySearch
from checks.domain.copies.transplant import differing_code, transplant
from checks.domain.copies.why_unaffected import why_unaffected
from checks.domain.siblings import base_unit, changed_functions_with_siblings, sibling_files
from checks.domain.source_search import code_line
from checks.lang.ir import expr as E
from checks.lang.ir.render import source_of
from checks.lang.ir.source_file import Function, SourceFile

ID = "sync.model-runner"

MOST_FINDINGS_A_FILE = 3
_REFERENCE_HARDWARE = ("", "gpu")

# The stale copies of each sibling file.
CopiesByPath: TypeAlias = dict[str, list[StaleCopy]]


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """For each sibling file, one finding a changed aspect or function, the most certain ones.

    1. `_alterations`: what did the change alter, effect by effect, in a function that has copies?
    2. `_refactors`: which of that may concern a copy? Not what means the same as before.
    3. `_stale_copy_search`, `_stale_copy`: where does a copy still have the old form?
       `_prerequisites`, `_exemptions`: does it have what the new form needs, and may it stay?
    4. `_why_unaffected`: why do the other siblings need nothing?
    """
    search = StaleCopySearch.of(change, config)
    copies = _find_copies(search)
    # The siblings that need nothing are listed once for each aspect, with its first finding.
    explained: set[Aspect] = set()
    for _, copies_of_file in sorted(copies.items()):
        groups = group_copies(one_per_statement(copies_of_file))
        for group in groups[:MOST_FINDINGS_A_FILE]:
            main = min(group, key=prominence)
            unaffected: list[Sibling] = []
            if aspect_of(main) not in explained:
                explained.add(aspect_of(main))
                unaffected = list(_unaffected_siblings(main, copies, search))
            yield _finding(main, group, unaffected, search)


def _find_copies(search: StaleCopySearch) -> CopiesByPath:
    """All stale copies, by the file in which they are."""
    change, config = search.change, search.config
    copies: CopiesByPath = {}
    altered = list(_altered_functions(change, config))
    places = {path: places_of_other_kind(found) for path, found in _by_file(altered).items()}
    for unit, paths, found in altered:
        for alteration in found:
            if is_only_rerouted(alteration, change, config):
                continue
            if keeps_kind(alteration, places[unit.path], change, config):
                continue
            for copy in search.stale_copies(alteration, unit, paths):
                copies.setdefault(copy.unit.path, []).append(copy)
    return copies


def _altered_functions(
    change: ChangeSet, config: Config
) -> Iterator[tuple[SourceFile, list[str], list[Alteration]]]:
    """(file, its siblings, alterations) of each changed function that has copies."""
    for base, head, paths in changed_functions_with_siblings(change, config):
        old_unit, unit = base_unit(head.path, change), change.unit(head.path)
        if paths and old_unit is not None and unit is not None:
            yield unit, paths, _alterations_for_copies(base, head, old_unit, unit)


def _by_file(
    altered: list[tuple[SourceFile, list[str], list[Alteration]]],
) -> dict[str, list[Alteration]]:
    found: dict[str, list[Alteration]] = {}
    for unit, _, alterations_of_function in altered:
        found.setdefault(unit.path, []).extend(alterations_of_function)
    return found


def _alterations_for_copies(
    base: Function, head: Function, old_unit: SourceFile, unit: SourceFile
) -> list[Alteration]:
    """The alterations that may concern a copy."""

    def search() -> list[Alteration]:
        relevant: list[Alteration] = []
        for alteration in alterations(base, head, old_unit, unit):
            if asks_hardware(alteration):
                continue
            if not is_refactor(alteration, base, old_unit, unit):
                relevant.append(alteration)
        return relevant

    # Kept with the function: the rule runs again for each of its fixes, on trees that share it.
    return head.body.memo((ID, base.path, base.start_line), search)


def _unaffected_siblings(
    main: StaleCopy, copies: CopiesByPath, search: StaleCopySearch
) -> Iterator[Sibling]:
    """The siblings that need nothing for this change, each with the reason."""
    changed_path = main.alteration.function.path
    unit = search.change.unit(changed_path)
    if unit is None:
        return
    for path in sibling_files(changed_path, search.change, search.config):
        stale = copies.get(path, [])
        if not any(aspect_of(copy) == aspect_of(main) for copy in stale):
            yield why_unaffected(main.alteration, unit, path, search.names, search.readers)


def _finding(
    main: StaleCopy, group: list[StaleCopy], unaffected: list[Sibling], search: StaleCopySearch
) -> Finding:
    is_certain = any(c.is_exact and c.confidence is Confidence.HIGH for c in group)
    other_places = len({copy.location for copy in group}) - 1
    kept = [_stale_sibling(copy, search) for copy in group]
    added = " ".join(main.alteration.added)
    return Finding(
        rule=ID,
        severity=Severity.SUGGESTION if is_certain else Severity.QUESTION,
        confidence=main.confidence,
        location=main.location,
        message=_message(main, other_places),
        symbol=main.function.qualname,
        subject=f"{main.alteration.kind} {_display_name(main)} {added}",
        evidence=(*kept, *unaffected),
        fix=_fix(group, search.change),
        pedantic=not _others_follow(main, search),
    )


def _others_follow(copy: StaleCopy, search: StaleCopySearch) -> bool:
    """Whether the changed file leads: it is the GPU's or no hardware's, or another sibling was
    changed with it.

    What one other hardware alone does differently is mostly what that hardware needs.
    """
    path, change = copy.alteration.function.path, search.change
    special_hardware = search.names.hardware - {"gpu", "cuda"}
    is_special_function = not special_hardware.isdisjoint(copy.alteration.function.name.split("_"))
    if search.config.hardware_of(path) in _REFERENCE_HARDWARE and not is_special_function:
        return True
    for sibling in sibling_files(path, change, search.config):
        if sibling != copy.unit.path and change.changed(sibling):
            return True
    return False


def _message(copy: StaleCopy, other_places: int) -> Message:
    alteration = copy.alteration
    args = {
        "function": copy.function.qualname,
        "name": _display_name(copy),
        "gained": list(alteration.added),
        "kept": [*alteration.removed, *alteration.changed],
        "changed": Location(alteration.function.path, alteration.new.line),
        "more": other_places,
    }
    if alteration.kind == "call":
        return Message("keyword" if alteration.only_adds else "argument", args)
    keys = {"assign": "value", "branch": "branch", "enum": "enum"}
    return Message(keys[alteration.kind], args)


def _display_name(copy: StaleCopy) -> str:
    """The place, the function called, the enum, or the condition, as the sibling writes it."""
    key, kind = copy.effect.key, copy.alteration.kind
    if isinstance(key, str) and key:
        return key
    if kind == "call" and not isinstance(key, str):
        return E.dotted(key) or E.callee(E.Call(key))
    line = code_line(copy.unit, copy.effect.start)
    if kind != "assign":
        return line
    target, is_there, _ = line.partition(" = ")
    if not is_there and isinstance(key, E.Sequence):
        # On several lines, of which the first is a bracket.
        return ", ".join(source_of(item) for item in key.items)
    return target


def _stale_sibling(copy: StaleCopy, search: StaleCopySearch) -> Sibling:
    """A stale copy as evidence."""
    excerpt = code_line(copy.unit, copy.line)
    unit = search.change.unit(copy.alteration.function.path)
    if copy.alteration.kind == "assign" and unit is not None:
        excerpt = differing_code(copy.alteration, copy.effect, unit, copy.unit) or excerpt
    hardware = search.config.hardware_of(copy.unit.path)
    return Sibling(copy.location, copy.function.qualname, hardware, Message("lags"), excerpt)


def _fix(group: list[StaleCopy], change: ChangeSet) -> Fix | None:
    """The change carried over to every copy of the group; None where one of them cannot have it."""
    edits: list[Edit] = []
    for copy in group:
        alteration = copy.alteration
        path = alteration.function.path
        old_unit, unit = base_unit(path, change), change.unit(path)
        if old_unit is None or unit is None:
            return None
        if missing_names(alteration, copy.function, copy.unit):
            return None
        if alteration.kind == "enum" and not copy.is_exact:
            return None
        edits_of_copy = transplant(alteration, copy.effect, old_unit, unit, copy.unit)
        if edits_of_copy is None:
            return None
        edits += edits_of_copy
    return Fix(tuple(edits)) if edits else None
