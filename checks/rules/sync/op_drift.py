"""A device op was changed in one copy, and another copy keeps the old form.

## What it does

Finds what the change altered in C++ and CUDA functions: a value, condition, loop bound or call that
became another one; a store that went away or came under a condition; a product that was widened to
64 bits. Where a copy of the same op (for other hardware, or the CPU reference of its wrapper) keeps
the old form, asks whether it should follow, with the change carried over as a fix where the lines
are the same.

## Why it matters

PaddlePaddle/FastDeploy#7370 corrected the step index in two GPU kernels; the XPU kernels and their
CPU references kept the old formula until #7409.

## Example

```cpp
if (rank_id > 0) return;                        // GPU, as the change wrote it
if (!save_each_rank && rank_id > 0) return;     // XPU copy: still the old gate
```

## Known limits

Copies are found by the ops they register and by file name. A copy counts as behind only where it
spells the old form with the same names; casts, namespaces and comments do not matter. A function
that was written anew is not compared, nor is new code that no copy ever had. Whether the other
hardware wants the change too is a question, never a bug. Where the change counts from an index
(`step_idx`) in another way, the copy's own callers decide if it is right: the question is shown to
the pedantic only, and `semantics.step-idx` has the word. So are two functions of one file: whoever
changed the one had the other before their eyes; and two headers for one hardware, which belong to
two ops that began as one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Related, Severity, Sibling
from checks.domain.copies.device_alterations import DeviceAlteration
from checks.domain.copies.device_transplant import transplant_all
from checks.domain.copies.op_copies import HEADERS, find_copies
from checks.domain.copies.unchanged_copies import (
    UnchangedCopy,
    effect_code,
    find_unchanged_copies,
    unchanged_copies_in,
)
from checks.lang.ir import expr as E
from checks.lang.source import language

ID = "sync.op-drift"

# From this many names and constants on, two are certainly not the same by chance.
_MANY_SYMBOLS = 5
_MOST_SHOWN = 6
_MOST_CODE = 120
# Other ops with the same old condition are named where they are few: they may be meant too.
_MOST_FILES_OF_OTHER_OPS = 16
_MOST_OTHER_OPS = 4


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One question for each altered file and each hardware whose copy keeps the old form."""
    groups: dict[tuple[str, str], list[UnchangedCopy]] = {}
    for copy in find_unchanged_copies(change, config):
        hardware = config.hardware_of(copy.unit.path) or copy.unit.path
        groups.setdefault((copy.alteration.function.path, hardware), []).append(copy)
    for group in groups.values():
        yield _finding(group, change, config)


def _finding(group: list[UnchangedCopy], change: ChangeSet, config: Config) -> Finding:
    """Reported in the file that keeps most of what changed; the other files are named beside it."""
    main_path = _path_with_most(group)
    main = next(copy for copy in group if copy.unit.path == main_path)
    alterations = {id(copy.alteration) for copy in group}
    args = {**_message_args(main, change, config), "more": len(alterations) - 1}
    is_certain = max(copy.effect.symbol_count for copy in group) >= _MANY_SYMBOLS
    # Two copies of one hardware (a kernel and its wrapper) are one question.
    related = [_related(copy, "also") for copy in _first_of_each_file(group, main_path)]
    for copy in _copies_in_other_ops(group, change, config):
        related.append(_related(copy, "elsewhere"))
    return Finding(
        rule=ID,
        severity=Severity.QUESTION,
        confidence=Confidence.HIGH if is_certain else Confidence.MEDIUM,
        location=main.location,
        message=Message("kept", args),
        symbol=main.function.qualname,
        subject=effect_code(main.unit, main.effect),
        evidence=tuple(_sibling(copy, change, config) for copy in group[:_MOST_SHOWN]),
        fix=transplant_all(group, change),
        pedantic=_is_pedantic(group, config),
        related=tuple(related),
    )


def _path_with_most(group: list[UnchangedCopy]) -> str:
    """The file with the most copies; the first of several."""
    counts: dict[str, int] = {}
    for copy in group:
        counts[copy.unit.path] = counts.get(copy.unit.path, 0) + 1
    return max(counts, key=lambda path: counts[path])


def _first_of_each_file(group: list[UnchangedCopy], main_path: str) -> list[UnchangedCopy]:
    """One copy of every file but the main one."""
    first: dict[str, UnchangedCopy] = {}
    for copy in group:
        if copy.unit.path != main_path:
            first.setdefault(copy.unit.path, copy)
    return list(first.values())


def _is_pedantic(group: list[UnchangedCopy], config: Config) -> bool:
    """Whether only the pedantic want to be asked."""
    if all(copy.unit.path == copy.alteration.function.path for copy in group):
        return True
    if all(_are_of_two_ops(copy, config) for copy in group):
        return True
    if any(_counts_from_index(copy.alteration, config) for copy in group):
        return True
    return all(_is_removed_local(copy.alteration) for copy in group)


def _are_of_two_ops(copy: UnchangedCopy, config: Config) -> bool:
    """Whether the two are headers for one hardware: they have one name, and each its own op."""
    paths = copy.unit.path, copy.alteration.function.path
    hardware = {config.hardware_of(path) for path in paths}
    return len(hardware) == 1 and all(path.endswith(HEADERS) for path in paths)


def _counts_from_index(alteration: DeviceAlteration, config: Config) -> bool:
    """Whether the change counts from an index in another way.

    Each hardware's own callers decide on that.
    """
    old, new = alteration.old, alteration.new
    if new is None or new.names == old.names:
        return False
    index_words = "|".join(re.escape(word) for word in config.semantics.index)
    is_index = re.compile(rf"(^|_)({index_words})($|_)")
    return any(is_index.search(name) for name in old.names & new.names)


def _is_removed_local(alteration: DeviceAlteration) -> bool:
    """Whether a store went away that did not go straight into a parameter."""
    if alteration.new is not None:
        return False
    key = alteration.old.key
    params = {p.name for p in alteration.base.params}
    return key is None or E.root(key) not in params


def _related(copy: UnchangedCopy, message_key: str) -> Related:
    return Related(copy.location, Message(message_key, {"function": copy.function.name}))


def _copies_in_other_ops(
    group: list[UnchangedCopy], change: ChangeSet, config: Config
) -> list[UnchangedCopy]:
    """Other ops that ask the same old condition, where they are few.

    They may be meant too, or have a reason.
    """
    conditions: dict[int, DeviceAlteration] = {}
    for copy in group:
        if copy.effect.kind == "branch":
            conditions[id(copy.alteration)] = copy.alteration
    copies: list[UnchangedCopy] = []
    for alteration in conditions.values():
        for path in _files_of_other_ops(alteration, change, config):
            unit = change.unit(path)
            if unit is not None:
                copies += unchanged_copies_in(unit, alteration, change)
    return copies if len(copies) <= _MOST_OTHER_OPS else []


def _files_of_other_ops(
    alteration: DeviceAlteration, change: ChangeSet, config: Config
) -> list[str]:
    """The files with the rarest word of the old condition that hold no copy of the altered op."""
    path = alteration.function.path
    same_op = {path, *find_copies(path, change, config)}
    others: set[str] = set()
    for hit in change.head.find(max(alteration.old.names, key=len)):
        if language(hit.path) == "cpp" and not config.is_test(hit.path):
            others.add(hit.path)
    others -= same_op
    return sorted(others) if len(others) <= _MOST_FILES_OF_OTHER_OPS else []


def _message_args(copy: UnchangedCopy, change: ChangeSet, config: Config) -> dict[str, object]:
    alteration = copy.alteration
    unit = change.unit(alteration.function.path)
    new_code = ""
    if alteration.guard is not None:
        kind = "guard"
        # The condition as the change wrote it, where its line is known.
        if unit is not None and alteration.guard.line:
            line = unit.text(alteration.guard.line)
            new_code = re.sub(r"\s+", " ", line).strip()[:_MOST_CODE]
    elif alteration.new is None:
        kind = "gone"
    else:
        kind = "became"
        new_code = effect_code(unit, alteration.new) if unit is not None else ""
    return {
        "kind": kind,
        "old": effect_code(copy.unit, copy.effect),
        "new": new_code,
        "at": Location(alteration.function.path, alteration.line),
        "name": alteration.function.name,
        "function": copy.function.name,
        "hardware": config.hardware_of(copy.unit.path),
    }


def _sibling(copy: UnchangedCopy, change: ChangeSet, config: Config) -> Sibling:
    hardware = config.hardware_of(copy.unit.path)
    keeps = Message("keeps", _message_args(copy, change, config))
    code = effect_code(copy.unit, copy.effect)
    return Sibling(copy.location, copy.function.qualname, hardware, keeps, code)
