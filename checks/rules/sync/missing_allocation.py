"""Shared code needs a key that the runner of some hardware never puts into its dict.

## What it does

Finds keys that shared code takes out of a dict parameter since this change (`share_inputs["k"]`).
For every runner that calls this code and fills a dict of its own under the same name, looks whether
the key stands anywhere in the runner's file.

## Why it matters

PaddlePaddle/FastDeploy#6259 made the shared post-processing read `last_preempted_idx`, which the
Metax runner did not allocate: `KeyError` on that hardware alone.

## Example

```python
# post_process.py, changed; metax_model_runner.py has a dict of its own without this key
share_inputs["last_preempted_idx"][:] = 0
```

## Known limits

Runners are the files of a `[[family]]` of the configuration. Keys are names in the text: one that
is computed (`share_inputs[name]`) is not seen. A key that is needed only for an option, on one
hardware, or after asking whether it is there, is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config, matches
from checks.core.finding import Confidence, Finding, Location, Message, Severity, Sibling
from checks.core.words import as_bytes, contains_word, word_regex
from checks.domain.keys import KeyUse, asks_platform, is_key_tested, key_uses
from checks.domain.siblings import base_unit
from checks.domain.source_search import (
    changed_python_functions,
    imports_from,
)
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, Param, SourceFile

ID = "sync.missing-allocation"


@dataclass(frozen=True, slots=True)
class NeededKey:
    """A key that shared code needs since this change, at one use of it."""

    use: KeyUse
    function: Function
    unit: SourceFile


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each needed key that at least one runner never allocates."""
    runner_globs = tuple(glob for family in config.family for glob in family.files)
    runners = [path for path in change.head.paths() if matches(path, runner_globs)]
    if not runners:
        return
    for needed in _newly_needed_keys(change, config, runner_globs):
        places = _runners_without_key(needed, runners, change)
        if places:
            yield _finding(needed, places, config)


def _newly_needed_keys(
    change: ChangeSet, config: Config, runner_globs: tuple[str, ...]
) -> Iterator[NeededKey]:
    """Each new key of a shared file, at the use that runs most often.

    That is the one under the fewest conditions.
    """
    needed_keys: dict[tuple[str, str], NeededKey] = {}
    for _, function, unit in changed_python_functions(change, config):
        if matches(function.path, runner_globs):
            continue
        before = base_unit(function.path, change)
        for use in key_uses(function):
            if not _is_newly_needed(use, function, change):
                continue
            # The file needed the key before this change, or makes it itself.
            if _quotes_key(use.key, before) or _is_set_before(use, function):
                continue
            best = needed_keys.get((function.path, use.key))
            if best is None or len(use.guards) < len(best.use.guards):
                needed_keys[function.path, use.key] = NeededKey(use, function, unit)
    yield from needed_keys.values()


def _is_newly_needed(use: KeyUse, function: Function, change: ChangeSet) -> bool:
    """Whether the change made `function` need a key of a parameter, always and on all hardware."""
    params = {p.name: p for p in function.params if p.name != "self"}
    if use.sets or use.holder not in params:
        return False
    if not change.touches(function.path, use.line, use.line):
        return False
    if asks_platform(use.guards) or is_key_tested(use):
        return False
    return not _asks_for_option(use, params)


def _asks_for_option(use: KeyUse, params: dict[str, Param]) -> bool:
    """Whether a condition around `use` names a parameter that callers may leave out."""
    for guard in use.guards:
        for name in E.names(guard):
            if name in params and params[name].default is not None:
                return True
    return False


def _quotes_key(key: str, unit: SourceFile | None) -> bool:
    """Whether the key stands in quotes anywhere in the file."""
    if unit is None:
        return False
    text = unit.text(1, len(unit.lines))
    return f'"{key}"' in text or f"'{key}'" in text


def _is_set_before(use: KeyUse, function: Function) -> bool:
    """Whether `function` itself puts the key in, above the use."""
    return any(u.sets and u.key == use.key and u.line <= use.line for u in key_uses(function))


def _runners_without_key(
    needed: NeededKey, runners: list[str], change: ChangeSet
) -> list[tuple[str, int]]:
    """The runners that need the key and never name it.

    Each with the line of the last key of its own dict.
    """
    places: list[tuple[str, int]] = []
    for path in runners:
        data = change.head.read(path) or b""
        line = _own_dict_line(data, needed.use.holder)
        if line is None or contains_word(data, as_bytes(needed.use.key)):
            continue
        if _leads_to_use(path, needed, change):
            places.append((path, line))
    return places


def _own_dict_line(data: bytes, holder: str) -> int | None:
    """Where a runner fills a dict of its own, made as `self.<holder> = {}` or `dict()`.

    The line is that of the last key that the same method puts in, or of the dict where it puts in
    none. None where the runner makes no such dict (it inherits one, or uses another class).
    """
    text = data.decode("utf-8", "replace")
    creation = re.search(rf"self\.{holder}\b[^=\n]*=\s*(\{{\}}|dict\(\))", text)
    if creation is None:
        return None
    rest_of_method = re.split(r"\n    def ", text[creation.start() :])[0]
    key_assignment = rf"self\.{holder}\[[\"']\w+[\"']\]\s*=[^=]"
    last_key = 0
    for assignment in re.finditer(key_assignment, rest_of_method):
        last_key = assignment.start()
    return text.count("\n", 0, creation.start() + last_key) + 1


def _leads_to_use(runner_path: str, needed: NeededKey, change: ChangeSet) -> bool:
    """Whether the runner imports and calls a function of the shared file that leads to the use."""
    runner = change.unit(runner_path)
    if runner is None:
        return False
    imported = {item.name for item in imports_from(needed.unit.path, runner)}
    entries = sorted(imported & _functions_leading_to(needed))
    text = "\n".join(runner.lines)
    return any(re.search(rf"{word_regex(name)}\(", text) for name in entries)


def _functions_leading_to(needed: NeededKey) -> set[str]:
    """The function with the use and those of its file that call it, directly or through others."""
    leading = {needed.function.name}
    while True:
        call = re.compile("|".join(rf"{word_regex(name)}\(" for name in sorted(leading)))
        callers: set[str] = set()
        for function in needed.unit.functions:
            # Without its first line, where the function's own name stands before a bracket.
            body = needed.unit.text(function.start_line + 1, function.end_line)
            if function.name not in leading and call.search(body):
                callers.add(function.name)
        if not callers:
            return leading
        leading |= callers


def _finding(needed: NeededKey, places: list[tuple[str, int]], config: Config) -> Finding:
    use, holder = needed.use, needed.use.holder
    is_certain = not use.guards
    hardware = [config.hardware_of(path) or path for path, _ in places]
    evidence: list[Sibling] = []
    for path, line in places:
        why = Message("no-key", {"key": use.key})
        evidence.append(Sibling(Location(path, line), holder, config.hardware_of(path), why))
    return Finding(
        rule=ID,
        severity=Severity.BUG if is_certain else Severity.SUGGESTION,
        confidence=Confidence.HIGH if is_certain else Confidence.MEDIUM,
        location=Location(needed.unit.path, use.line),
        message=Message("not-allocated", {"key": use.key, "holder": holder, "hardware": hardware}),
        symbol=needed.function.qualname,
        subject=f"{holder} {use.key}",
        evidence=tuple(evidence),
    )
