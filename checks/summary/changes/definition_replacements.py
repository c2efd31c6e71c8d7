"""Functions and ops that came in the place of others: a new name stands where another stood."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Side
from checks.domain.change_facts import Facts, FunctionFact, OpFact, op_parts
from checks.lang.ir.source_file import Op
from checks.summary.changes.name_replacements import NameReplacement
from checks.summary.changes.names import last_part
from checks.summary.changes.pairs import altered_functions


@dataclass(frozen=True, slots=True)
class FunctionReplacement:
    """Function `new` stands in the file instead of `old`; its code may be quite different."""

    old: FunctionFact
    new: FunctionFact


@dataclass(frozen=True, slots=True)
class OpReplacement:
    """Op `new` is registered in the file instead of `old`.

    `gained` and `lost` are inputs, outputs and attributes.
    """

    old: Op
    new: Op
    path: str
    gained: tuple[str, ...]
    lost: tuple[str, ...]


def replacements_of_functions(
    change: ChangeSet, config: Config, facts: Facts, names: Iterable[NameReplacement]
) -> tuple[FunctionReplacement, ...]:
    """New functions whose name replaced that of a removed one of the same file, or that hold its
    code under another owner."""
    exchanged = {(r.old, r.new) for r in names}
    renamed = {
        (delta.head.path, base.qualname, delta.head.qualname)
        for delta, base, _ in altered_functions(change, config)
        if base.qualname != delta.head.qualname
    }
    removed = [f for f in facts.functions if f.what == "removed"]
    added = [f for f in facts.functions if f.what == "added"]
    replacements = []
    for new in added:
        predecessors = []
        for old in removed:
            if old.path != new.path:
                continue
            has_its_code = (new.path, old.name, new.name) in renamed
            if has_its_code or (last_part(old.name), last_part(new.name)) in exchanged:
                predecessors.append(old)
        # Of two that went, nobody can tell which one it replaced.
        if len(predecessors) == 1:
            replacements.append(FunctionReplacement(predecessors[0], new))
            removed.remove(predecessors[0])
    return tuple(replacements)


def replacements_of_ops(
    change: ChangeSet, facts: Facts, names: Iterable[NameReplacement]
) -> Iterator[OpReplacement]:
    """Ops that are registered under another name in the same file."""
    exchanged = sorted({(r.old, r.new) for r in names})
    removed = {(o.path, o.name) for o in facts.ops if o.what == "removed"}
    added = [fact for fact in facts.ops if fact.what == "added"]
    for fact in added:
        old_names = [old for old, new in exchanged if new == fact.name]
        old_names = [old for old in old_names if (fact.path, old) in removed]
        if not old_names:
            continue
        old = _registered_op(old_names[0], fact, Side.BASE, change)
        new = _registered_op(fact.name, fact, Side.HEAD, change)
        if old is not None and new is not None:
            yield _op_replacement(old, new, fact.path)


def _op_replacement(old: Op, new: Op, path: str) -> OpReplacement:
    old_parts, new_parts = op_parts(old), op_parts(new)
    gained = tuple(part for part in new_parts if part not in old_parts)
    lost = tuple(part for part in old_parts if part not in new_parts)
    return OpReplacement(old, new, path, gained, lost)


def _registered_op(name: str, fact: OpFact, side: Side, change: ChangeSet) -> Op | None:
    """The first op called `name` that the file of `fact` registers on this side."""
    path: str | None = fact.path
    file = change.changed(fact.path)
    if file is not None and side is Side.BASE:
        path = file.base_path
    unit = change.unit(path, side) if path else None
    if unit is None:
        return None
    named = [op for op in unit.ops if op.name == name]
    return named[0] if named else None
