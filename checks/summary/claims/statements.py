"""What functions call, and what changed in them, statement by statement."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Location, Message, Side
from checks.lang.ir.source_file import Function
from checks.rules.kernel.host_sync import WAITS
from checks.summary import arguments, call_changes, layout, state_changes, statements
from checks.summary import conditions as condition_changes
from checks.summary import overrides as attribute_overrides
from checks.summary.claims.claim_locations import at, own_names
from checks.summary.definitions import defined
from checks.summary.model import Claim

_MOST_BRANCHES = 6
_MOST_WRITTEN = 4
_MOST_NAMED = 5
_STATE = re.compile(r"[.\[]")
_FIELD = re.compile(r"\.(\w+\[\d+\])")
# Calls that make the host wait, or that take it back: no product defines them, and steps overlap or not by them.
_WAITS = WAITS | {"copy_to", "synchronize", "pin_memory", "cudaStreamSynchronize"}
Exchanged = Sequence[tuple[str, str]]


def calls(change: ChangeSet, config: Config, known: set[str], about: set[str]) -> Iterator[Claim]:
    """Calls that came or went, of names that the repository defines and no other claim explains. `about` are the names
    that the change made, or made otherwise: they tie their callers to it."""

    def tells(name: str, side: Side) -> bool:
        return name not in known and (name in _WAITS or defined(name, change, side, config))

    alike: dict[tuple[tuple[str, ...], tuple[str, ...]], list[Function]] = {}
    for found in call_changes.calls(change, config):
        gained = tuple(n for n in found.gained if tells(n, Side.HEAD))
        lost = tuple(n for n in found.lost if tells(n, Side.BASE))
        if gained or lost:
            alike.setdefault((gained, lost), []).append(found.function)
    for (gained, lost), functions in alike.items():
        args = {"gained": list(gained), "lost": list(lost), **_named(functions)}
        tied = dict.fromkeys((*_own_names(functions), *(n for n in (*gained, *lost) if n in about)))
        yield Claim(Message("calls", args), tuple(map(at, functions)), tuple(tied))


def _named(functions: Sequence[Function]) -> dict[str, Any]:
    """What one sentence says of functions of which the same is to be said."""
    names = list(dict.fromkeys(f.qualname for f in functions))
    return {"names": names, "name": names[0], "path": functions[0].path}


def _own_names(functions: Sequence[Function]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(n for f in functions for n in own_names(f)))


def _exchanged(gained: Sequence[str], lost: Sequence[str]) -> dict[str, Any]:
    """What came and what went; of many the first, and how many more there are."""
    return {
        "gained": list(gained[:_MOST_NAMED]),
        "lost": list(lost[:_MOST_NAMED]),
        "more_gained": max(0, len(gained) - _MOST_NAMED),
        "more_lost": max(0, len(lost) - _MOST_NAMED),
    }


def conditions(change: ChangeSet, config: Config, exchanged: Exchanged) -> Iterator[Claim]:
    for found in condition_changes.conditions(change, config):
        if not layout.only_renamed(found.old, found.new, exchanged):
            args = {
                "name": found.function.qualname,
                "old": found.old,
                "new": found.new,
                "path": found.function.path,
            }
            message = Message("condition-part", args) if found.part else Message("condition", args)
            yield Claim(
                message, (Location(found.function.path, found.line),), own_names(found.function)
            )


def written(change: ChangeSet, config: Config, exchanged: Exchanged) -> Iterator[Claim]:
    seen: Counter[str] = Counter()
    lines: set[tuple[str, int]] = set()
    for read in (
        statements.unpacked,
        statements.assignments,
        statements.loops,
        statements.in_place,
    ):
        for found in read(change, config):
            name, path = found.function.qualname, found.function.path
            known = found.old and found.new and layout.only_renamed(found.old, found.new, exchanged)
            if known or (path, found.line) in lines:
                continue
            lines.add((path, found.line))
            seen[name] += 1
            if seen[name] > _MOST_WRITTEN:
                continue
            # A field of a message ties its senders and receivers together: `meta[1]`.
            fields = _FIELD.findall(found.target if found.old or not found.new else found.new)
            where = Location(path, found.line)
            yield Claim(_written(found, read), (where,), (*own_names(found.function), *fields))


def _written(found: statements.Written, read: object) -> Message:
    args = {
        "name": found.function.qualname,
        "target": found.target,
        "old": found.old,
        "new": found.new,
    }
    if read is statements.unpacked:
        return Message("unpacked", args)
    if read is statements.loops:
        return Message("loop", args)
    if not found.target:
        return Message("returned", args)
    return Message("assigned", args) if _STATE.search(found.target) else Message("set-local", args)


def exits(change: ChangeSet, config: Config) -> Iterator[Claim]:
    alike: dict[tuple[str, str], list[state_changes.Exit]] = {}
    for found in state_changes.exits(change, config):
        alike.setdefault((found.how, found.test), []).append(found)
    for (how, test), leaving in alike.items():
        functions = [e.function for e in leaving]
        places = tuple(Location(e.function.path, e.line) for e in leaving)
        args = {"how": how, "test": test, **_named(functions)}
        yield Claim(Message("exit", args), places, _own_names(functions))


def state(change: ChangeSet, config: Config) -> Iterator[Claim]:
    for found in state_changes.state(change, config):
        args = {
            "name": found.function.qualname,
            **_exchanged(found.gained, found.lost),
            "path": found.function.path,
        }
        yield Claim(
            Message("state", args),
            (Location(found.function.path, found.line),),
            own_names(found.function),
        )


def dropped(change: ChangeSet, config: Config, exchanged: Exchanged) -> Iterator[Claim]:
    for found in attribute_overrides.dropped(change, config, exchanged):
        path, name = found.function.path, found.function.qualname
        args = {"name": name, "test": found.test, "note": found.note}
        yield Claim(
            Message("dropped", args), (Location(path, found.line),), own_names(found.function)
        )


def overrides(change: ChangeSet, config: Config, exchanged: Exchanged) -> Iterator[Claim]:
    for found in attribute_overrides.overrides(change, config, exchanged):
        path, name = found.function.path, found.function.qualname
        args = {
            "name": name,
            "target": found.target,
            "value": found.value,
            "test": found.test,
            "gone": found.gone,
        }
        where = at(found.function) if found.gone else Location(path, found.line)
        yield Claim(Message("override", args), (where,), own_names(found.function))


def narrowed(change: ChangeSet, config: Config) -> Iterator[Claim]:
    """What now runs only under a condition, one sentence for everything under the same one."""
    told: dict[tuple[str, str, str], list[state_changes.Narrowed]] = {}
    for found in state_changes.narrowed(change, config):
        told.setdefault((found.function.path, found.function.qualname, found.test), []).append(
            found
        )
    for (path, name, test), under in told.items():
        parts = {
            "sets": list(dict.fromkeys(n.what for n in under if not n.calls))[:_MOST_NAMED],
            "calls": list(dict.fromkeys(n.what for n in under if n.calls))[:_MOST_NAMED],
        }
        places = tuple(Location(path, n.line) for n in under)
        message = Message("narrowed", {"name": name, "test": test, "path": path, **parts})
        yield Claim(message, places, own_names(under[0].function))


def repeated(change: ChangeSet, config: Config) -> Iterator[Claim]:
    for found in arguments.repeated(change, config):
        args = {
            "name": found.function.qualname,
            "callee": found.called,
            **_exchanged(found.gained, found.lost),
        }
        yield Claim(
            Message("repeated", args),
            (Location(found.function.path, found.line),),
            own_names(found.function),
        )


def passed(
    change: ChangeSet, config: Config, exchanged: Exchanged, about: set[str]
) -> Iterator[Claim]:
    for found in arguments.passed(change, config):
        if _beside(found, change):
            continue
        told = [
            (o, n) for o in found.lost for n in found.gained if layout.only_renamed(o, n, exchanged)
        ]
        gained = [n for n in found.gained if n not in {n for _, n in told}]
        lost = [o for o in found.lost if o not in {o for o, _ in told}]
        few = 0 < len(gained) + len(lost) <= _MOST_NAMED
        if few and defined(found.callee, change, Side.HEAD, config):
            args = {
                "name": found.function.qualname,
                "callee": found.called,
                "gained": gained,
                "lost": lost,
            }
            where = Location(found.function.path, found.line)
            tied = (found.callee,) if found.callee in about else ()
            yield Claim(Message("passed", args), (where,), (*own_names(found.function), *tied))


def _beside(found: arguments.Passed, change: ChangeSet) -> bool:
    """Whether a function of the same C++ file is called: a wrapper and its kernel say the same twice."""
    unit = change.unit(found.function.path)
    return (
        unit is not None
        and unit.language == "cpp"
        and any(f.name == found.callee for f in unit.functions)
    )


def branches(change: ChangeSet, config: Config) -> Iterator[Claim]:
    for found in statements.branches(change, config):
        members = [f"{found.enum}.{m}" for m in found.members[:_MOST_BRANCHES]]
        args = {
            "name": found.function.qualname,
            "members": members,
            "new": found.new,
            "path": found.function.path,
        }
        yield Claim(
            Message("branches", args),
            (Location(found.function.path, found.line),),
            own_names(found.function),
        )
