"""What came in the place of something else: a function or an op whose new name stands where the old one stood."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Side
from checks.domain.change_facts import Facts, FunctionFact, OpFact, parts
from checks.lang.ir.source_file import Op
from checks.summary.pairs import paired
from checks.summary.replacements import Replacement


@dataclass(frozen=True, slots=True)
class Successor:
    """Function `new` is there instead of `old`, in the same file; its code may be another."""

    old: FunctionFact
    new: FunctionFact


@dataclass(frozen=True, slots=True)
class OpSuccessor:
    """Op `new` is registered instead of `old`, in the same file. `gained` and `lost`: inputs, outputs, attributes."""

    old: Op
    new: Op
    path: str
    gained: tuple[str, ...]
    lost: tuple[str, ...]


def functions(
    change: ChangeSet, config: Config, facts: Facts, replaced: Iterable[Replacement]
) -> tuple[Successor, ...]:
    """New functions of a file whose name replaced that of one that went, or that hold its code under its plain name."""
    names = {(r.old, r.new) for r in replaced}
    held = {
        (d.head.path, d.base.qualname, d.head.qualname)
        for d in paired(change, config)
        if d.base is not None and d.base.qualname != d.head.qualname
    }
    gone = [f for f in facts.functions if f.what == "removed"]
    found = []
    for new in facts.functions:
        if new.what != "added":
            continue
        before = [
            old
            for old in gone
            if old.path == new.path
            and (
                (_plain(old.name), _plain(new.name)) in names
                or (new.path, old.name, new.name) in held
            )
        ]
        if len(before) == 1:
            found.append(Successor(before[0], new))
            gone.remove(before[0])
    return tuple(found)


def ops(change: ChangeSet, facts: Facts, replaced: Iterable[Replacement]) -> Iterator[OpSuccessor]:
    """Ops that were registered under another name in the same file."""
    names = {(r.old, r.new) for r in replaced}
    gone = {(o.path, o.name) for o in facts.ops if o.what == "removed"}
    for fact in facts.ops:
        old = next((o for o, n in sorted(names) if n == fact.name and (fact.path, o) in gone), "")
        before, now = _op(old, fact, Side.BASE, change), _op(fact.name, fact, Side.HEAD, change)
        if fact.what == "added" and before is not None and now is not None:
            was, new = parts(before), parts(now)
            gained = tuple(p for p in new if p not in was)
            yield OpSuccessor(before, now, fact.path, gained, tuple(p for p in was if p not in new))


def _op(name: str, fact: OpFact, side: Side, change: ChangeSet) -> Op | None:
    file = change.changed(fact.path)
    path = file.base_path if file and side is Side.BASE else fact.path
    unit = change.unit(path, side) if path else None
    return next((o for o in unit.ops if o.name == name), None) if unit else None


def _plain(name: str) -> str:
    return name.rsplit("::", 1)[-1].rsplit(".", 1)[-1]
