"""What became of ops: how they are registered, and how they are bound to Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Location, Message, Side
from checks.domain.change_facts import Facts
from checks.lang.ir.source_file import Binding, SourceFile
from checks.summary import successors
from checks.summary.claims.claim_locations import declared_name, plain
from checks.summary.model import Claim
from checks.summary.replacements import Replacement


def ops(change: ChangeSet, facts: Facts, replaced: Iterable[Replacement]) -> Iterator[Claim]:
    told = set()
    for s in successors.ops(change, facts, replaced):
        told |= {(s.path, s.old.name), (s.path, s.new.name)}
        args = {
            "name": s.new.name,
            "old": s.old.name,
            "gained": list(s.gained),
            "lost": list(s.lost),
        }
        called = (s.new.name, plain(s.new.kernel), s.old.name, plain(s.old.kernel))
        places = (
            Location(s.new.path, s.new.line),
            Location(s.old.path, s.old.line, side=Side.BASE),
        )
        yield Claim(Message("op-replaced", args), places, tuple(filter(None, called)))
    for op in facts.ops:
        if (op.path, op.name) in told:
            continue
        gone = op.what == "removed"
        file = change.changed(op.path)
        path = (file.base_path or op.path) if gone and file else op.path
        unit = change.unit(path, Side.BASE if gone else Side.HEAD)
        line = next((o.line for o in unit.ops if o.name == op.name), 0) if unit else 0
        args = {"name": op.name, "path": path, "gained": list(op.gained), "lost": list(op.lost)}
        kernel = next((o.kernel for o in unit.ops if o.name == op.name), "") if unit else ""
        keys = {"added": "op-added", "removed": "op-removed", "changed": "op-changed"}
        where = Location(path, line, side=Side.BASE if gone else Side.HEAD)
        # An input and the output that is the same tensor, `x` and `x_out`, are one name.
        exchanged = (declared_name(n).removesuffix("_out") for n in (*op.gained, *op.lost))
        names = (op.name, plain(kernel), *exchanged)
        yield Claim(
            Message(keys[op.what], args), (where,), tuple(filter(None, dict.fromkeys(names)))
        )


def bindings(change: ChangeSet, config: Config, renamed: dict[str, str]) -> Iterator[Claim]:
    for file in change.files:
        head = (
            change.unit(file.head_path)
            if file.head_path and not config.is_test(file.path)
            else None
        )
        base = change.unit(file.base_path, Side.BASE) if file.base_path else None
        old, new = _bound(base), _bound(head)
        yield from _unbound(old, {*new, *(renamed.get(n, "") for n in new if n not in old)})
        for name, bound in new.items():
            before = old.get(name, [])
            if _texts(base, before) == _texts(head, bound):
                continue
            args = {"name": name, "path": bound[0].path, "count": len(bound[0].args)}
            names = (name, bound[0].function.rsplit("::", 1)[-1])
            where = tuple(Location(b.path, b.line) for b in bound)
            instead = renamed.get(name, "")
            if not before and instead in old and instead not in new:
                yield Claim(
                    Message("binding-replaced", {**args, "old": instead}), where, (*names, instead)
                )
            elif not before:
                yield Claim(Message("binding-added", args), where, names)
            elif len(bound) > len(before):
                yield Claim(
                    Message("binding-repeated", {**args, "times": len(bound)}), where, names
                )
            elif before[0].args != bound[0].args:
                gained = [a for a in bound[0].args if a not in before[0].args]
                lost = [a for a in before[0].args if a not in bound[0].args]
                changed = Message("binding-changed", {**args, "gained": gained, "lost": lost})
                yield Claim(changed, where, (*names, *gained, *lost))


def _texts(unit: SourceFile | None, bound: list[Binding]) -> list[str]:
    """The source of each binding: where it is what it was, nothing need be read of it."""
    return [unit.text(b.line, b.end_line) for b in bound] if unit is not None else []


def _unbound(old: dict[str, list[Binding]], known: set[str]) -> Iterator[Claim]:
    """Bindings that went and that nothing took the place of."""
    for name, bound in old.items():
        if name not in known:
            where = tuple(Location(b.path, b.line, side=Side.BASE) for b in bound)
            names = (name, bound[0].function.rsplit("::", 1)[-1])
            yield Claim(
                Message("binding-removed", {"name": name, "path": bound[0].path}), where, names
            )


def _bound(unit: SourceFile | None) -> dict[str, list[Binding]]:
    named: dict[str, list[Binding]] = {}
    for binding in unit.bindings if unit else ():
        named.setdefault(binding.name, []).append(binding)
    return named
