"""Keys that are needed where nobody has made them: by another hardware's runner, or on one hardware only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from checks.core.change import ChangeSet, any_line_in
from checks.core.config import Config, matches
from checks.core.finding import Confidence, Finding, Location, Message, Severity, Sibling
from checks.core.tree import find_word, word_regex
from checks.domain.keys import Use, asks_platform, hardware_alone, looked_for, uses
from checks.domain.siblings import Names, base_unit
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import If, Raise, guarded_statements, negate


@dataclass(frozen=True, slots=True)
class _Needed:
    """A key that shared code needs since this change, at its first use."""

    use: Use
    function: Function
    unit: SourceFile


def not_allocated(change: ChangeSet, config: Config, rule: str) -> Iterator[Finding]:
    """A key that shared code takes out of a parameter since this change, and that a runner which calls that code never
    puts into its own dict."""
    families = tuple(glob for f in config.family for glob in f.files)
    runners = [p for p in change.head.paths() if matches(p, families)] if families else []
    for needed in _newly_needed(change, config, families) if runners else ():
        lacking = []
        for path in runners:
            place = _own_dict(path, needed.use.holder, change)
            if (
                place is not None
                and not _names(path, needed.use.key, change)
                and _reaches(path, needed, change)
            ):
                lacking.append((path, place))
        if lacking:
            yield _not_allocated(needed, lacking, config, rule)


def _newly_needed(
    change: ChangeSet, config: Config, families: tuple[str, ...]
) -> Iterator[_Needed]:
    """Each new key at the use that runs most often: the one under the fewest conditions."""
    found: dict[tuple[str, str], _Needed] = {}
    for _, head in change.changed_functions():
        if (
            head is None
            or not head.path.endswith(".py")
            or config.is_test(head.path)
            or matches(head.path, families)
        ):
            continue
        unit, before = change.unit(head.path), base_unit(head.path, change)
        for use in uses(head) if unit is not None else ():
            if (
                unit is None
                or not _fresh(use, head, change)
                or _quoted(use.key, before)
                or _set_here(use, head)
            ):
                continue
            best = found.get((head.path, use.key))
            if best is None or len(use.guards) < len(best.use.guards):
                found[head.path, use.key] = _Needed(use, head, unit)
    yield from found.values()


def _fresh(use: Use, function: Function, change: ChangeSet) -> bool:
    """Whether the change needs a key of a parameter here, whatever the hardware, and not for an option left out."""
    params = {p.name: p for p in function.params if p.name != "self"}
    if (
        use.sets
        or use.holder not in params
        or not change.touches(function.path, use.line, use.line)
    ):
        return False
    optional = any(
        n in params and params[n].default is not None for g in use.guards for n in E.names(g)
    )
    return not (optional or asks_platform(use.guards) or looked_for(use))


def _quoted(key: str, unit: SourceFile | None) -> bool:
    text = unit.text(1, len(unit.lines)) if unit is not None else ""
    return f'"{key}"' in text or f"'{key}'" in text


def _set_here(use: Use, function: Function) -> bool:
    return any(u.sets and u.key == use.key and u.line <= use.line for u in uses(function))


def _own_dict(path: str, holder: str, change: ChangeSet) -> int | None:
    """The line on which the runner makes a dict of its own under the holder's name, with its keys below it."""
    return change.memo(
        (_own_dict, path, holder), lambda: _made_in(change.head.read(path) or b"", holder)
    )


def _made_in(data: bytes, holder: str) -> int | None:
    text = data.decode("utf-8", "replace")
    made = re.search(rf"self\.{holder}\b[^=\n]*=\s*(\{{\}}|dict\(\))", text)
    if made is None:
        return None
    rest = re.split(r"\n    def ", text[made.start() :])[0]
    keys = [m.start() for m in re.finditer(rf"self\.{holder}\[[\"']\w+[\"']\]\s*=[^=]", rest)]
    return text.count("\n", 0, made.start() + (keys[-1] if keys else 0)) + 1


def _names(path: str, key: str, change: ChangeSet) -> bool:
    """Whether the key stands anywhere in the runner."""
    return bool(find_word(change.head.read(path) or b"", key))


def _reaches(path: str, needed: _Needed, change: ChangeSet) -> bool:
    """Whether the runner imports and calls a function of that file which leads to the use."""
    unit = change.unit(path)
    module = needed.unit.path.removesuffix(".py").replace("/", ".")
    names = (
        {i.name for i in unit.imports if i.module and module.endswith(i.module.lstrip("."))}
        if unit
        else set()
    )
    wanted = {needed.function.name}
    grown = True
    while grown:
        callers = {f.name for f in needed.unit.functions if _calls(f, needed.unit, wanted)} - wanted
        grown = bool(callers)
        wanted |= callers
    return unit is not None and any(
        re.search(rf"{word_regex(n)}\(", "\n".join(unit.lines)) for n in sorted(names & wanted)
    )


def _calls(function: Function, unit: SourceFile, names: set[str]) -> bool:
    text = unit.text(function.start_line + 1, function.end_line)
    return any(re.search(rf"{word_regex(name)}\(", text) for name in names)


def _not_allocated(
    needed: _Needed, lacking: list[tuple[str, int]], config: Config, rule: str
) -> Finding:
    certain = not needed.use.guards
    hardware = [config.hardware_of(path) or path for path, _ in lacking]
    use, holder = needed.use, needed.use.holder
    evidence = tuple(
        Sibling(
            Location(path, line),
            holder,
            config.hardware_of(path),
            Message("no-key", {"key": use.key}),
        )
        for path, line in lacking
    )
    return Finding(
        rule=rule,
        severity=Severity.BUG if certain else Severity.SUGGESTION,
        confidence=Confidence.HIGH if certain else Confidence.MEDIUM,
        location=Location(needed.unit.path, use.line),
        message=Message("not-allocated", {"key": use.key, "holder": holder, "hardware": hardware}),
        symbol=needed.function.qualname,
        subject=f"{holder} {use.key}",
        evidence=evidence,
    )


def one_sided(change: ChangeSet, config: Config, rule: str) -> Iterator[Finding]:
    """A key that is made on some hardware only, and needed since this change without asking for the hardware."""
    for old, head in change.changed_functions():
        unit = change.unit(head.path) if head is not None else None
        if (
            head is None
            or unit is None
            or not head.path.endswith(".py")
            or config.is_test(head.path)
        ):
            continue
        special = set(re.split(r"_+", head.name)) & Names.of(config).hardware
        if (
            special
            or config.hardware_of(head.path)
            or not change.memo((_names_platform, head.path), partial(_names_platform, unit))
        ):
            continue
        fresh = [u for u in uses(head) if not u.sets and change.touches(head.path, u.line, u.line)]
        known = uses(old) if old is not None and fresh else ()
        before = {u.key for u in known if not asks_platform(u.guards)}
        found: dict[str, tuple[Use, Use]] = {}
        for use in fresh:
            needed = use.key not in before and use.key not in found
            if needed and not asks_platform(use.guards) and not looked_for(use):
                made = _made_on_one(use.key, head, unit, change)
                if made is not None:
                    found[use.key] = use, made
        if found:
            yield _one_sided(found, head, unit, rule)


def _names_platform(unit: SourceFile) -> bool:
    return any("platform" in line and "is_" in line for line in unit.lines)


def _made_on_one(key: str, reader: Function, unit: SourceFile, change: ChangeSet) -> Use | None:
    """The one-sided place that makes `key`, where every place of the file that makes it asks for the hardware."""
    made = []
    sets = re.compile(rf"{re.escape(key)}[\"']?[\s\\)\]]*(?::[^=]*)?=(?!=)")
    if not sets.search(unit.text(1, len(unit.lines))):
        return None
    lines = [line for line, _ in find_word(change.head.read(unit.path) or b"", key)]
    for function in unit.functions:
        reads = function.name == reader.name and function.owner == reader.owner
        if reads or not any_line_in(lines, function.start_line, function.end_line):
            continue
        if sets.search(unit.text(function.start_line, function.end_line)):
            made += [(u, function) for u in uses(function) if u.sets and u.key == key]
    if any(c.name == key and c.owner == reader.owner and c.kind == "field" for c in unit.constants):
        return None  # the class itself has it
    asked = {g for u, _ in made for g in u.guards if hardware_alone(g)}
    if any(negate(g) in asked for g in asked) or any(_same_hardware(g, reader) for g in asked):
        return None
    some = all(any(map(hardware_alone, u.guards)) and not _refused_elsewhere(u, f) for u, f in made)
    return made[0][0] if made and some else None


def _same_hardware(test: E.Expr, reader: Function) -> bool:
    """Whether the file or class of `reader` bears the name of the hardware that `test` asks for."""
    named = {E.callee(c).removeprefix("is_") for c in E.walk(test) if isinstance(c, E.Call)}
    return any(n and (n in reader.path.lower() or n in reader.owner.lower()) for n in named)


def _refused_elsewhere(use: Use, function: Function) -> bool:
    """Whether `use` runs on some hardware only because the function raised on the rest: nobody gets past it."""
    asking = [
        g.stmt
        for g in guarded_statements(function.body)
        if isinstance(g.stmt, If) and asks_platform((g.stmt.test,))
    ]
    around = any(i.line <= use.line <= i.end_line for i in asking)
    raised = (i for i in asking for arm in (i.then, i.orelse) if arm and isinstance(arm[-1], Raise))
    return not around and any(i.end_line < use.line for i in raised)


def _one_sided(
    found: dict[str, tuple[Use, Use]], function: Function, unit: SourceFile, rule: str
) -> Finding:
    first, made = min(found.values(), key=lambda pair: pair[0].line)
    excerpt = unit.lines[made.line - 1].strip()
    return Finding(
        rule=rule,
        severity=Severity.BUG,
        confidence=Confidence.HIGH,
        location=Location(unit.path, first.line),
        message=Message(
            "one-sided",
            {"keys": sorted(found), "function": function.qualname, "at": made_at(unit, made)},
        ),
        symbol=function.qualname,
        subject=" ".join(sorted(found)),
        evidence=(
            Sibling(
                made_at(unit, made),
                made.holder,
                "",
                Message("made-here", {"key": made.key}),
                excerpt,
            ),
        ),
    )


def made_at(unit: SourceFile, use: Use) -> Location:
    return Location(unit.path, use.line)
