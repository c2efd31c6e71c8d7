"""The true sentences about a change, from its facts: what was split, moved, renamed, replaced, added, removed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from checks.analysis import successors, symbols
from checks.analysis.model import Claim
from checks.analysis.replaced import Replacement
from checks.change import ChangeSet
from checks.config import Config
from checks.facts import Facts, FunctionFact
from checks.finding import Location, Message, Side
from checks.ir.unit import Binding, Function, Unit
from checks.kernel.deltas import same
from checks.source import language

_MOST_BRANCHES = 6
_MANY = 4
_MOST_NAMES = 8
_MOST_WRITTEN = 4
_FIELD = re.compile(r"\.(\w+\[\d+\])")
_MOST_DEFINITIONS = 12


def claims(change: ChangeSet, config: Config, facts: Facts, replaced: tuple[Replacement, ...]) -> tuple[Claim, ...]:
    """Every claim, the ones that explain most first."""
    found = [*_splits(change, config)]
    split = {name for c in found for name in c.symbols}
    found += _moves(change, config)
    renamed = {r.new: r.old for r in replaced}
    found += _ops(change, facts, replaced)
    found += _bindings(change, config, renamed)
    found += [_replacement(r) for r in replaced]
    successive = successors.functions(change, config, facts, replaced)
    found += [_successor(s) for s in successive]
    known = {id(f) for s in successive for f in (s.old, s.new)} | _unchanged(facts, change, config)
    found += _functions(replace(facts, functions=tuple(f for f in facts.functions if id(f) not in known)), split)
    found += _calls(change, config, {n for r in replaced for n in (r.old, r.new)} | split)
    found += _conditions(change, config)
    found += _written(change, config)
    found += _branches(change, config)
    found += _keys(change, config, {r.new for r in replaced})
    classes = [*_classes(change, config)]
    found += classes
    found += _constants(facts, {str(c.message.args["name"]) for c in classes})
    found += _others(facts, {s for c in found for s in c.symbols}, change)
    return tuple(found)


def at(function: Function) -> Location:
    """Where a function is defined."""
    return Location(function.path, function.start_line)


def _splits(change: ChangeSet, config: Config) -> Iterator[Claim]:
    for split in symbols.splits(change, config):
        names = [p.name for p in split.parts]
        args = {
            "name": split.whole.name,
            "parts": names,
            "shares": [f"{share:.0%}" for share in split.shares],
            "path": split.whole.path,
        }
        key = Message("split", args) if len(names) > 1 else Message("extracted", args)
        yield Claim(key, (at(split.whole), *map(at, split.parts)), (*_own(split.whole), *names))


def _own(function: Function) -> tuple[str, ...]:
    """The names that stand for a function: qualified, and plain where the plain one says enough."""
    plain = () if function.owner and (len(function.name) < 10 or function.name.startswith("__")) else (function.name,)
    return tuple(dict.fromkeys((function.qualname, *plain)))


def _moves(change: ChangeSet, config: Config) -> Iterator[Claim]:
    for before, now in symbols.moved(change, config):
        args = {"name": now.qualname, "old": before.path, "new": now.path}
        yield Claim(Message("moved", args), (at(now),), _own(now))


def _ops(change: ChangeSet, facts: Facts, replaced: Iterable[Replacement]) -> Iterator[Claim]:
    told = set()
    for s in successors.ops(change, facts, replaced):
        told |= {(s.path, s.old.name), (s.path, s.new.name)}
        args = {"name": s.new.name, "old": s.old.name, "gained": list(s.gained), "lost": list(s.lost)}
        called = (s.new.name, _plain(s.new.kernel), s.old.name, _plain(s.old.kernel))
        places = (Location(s.new.path, s.new.line), Location(s.old.path, s.old.line, side=Side.BASE))
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
        names = (op.name, _plain(kernel), *map(_name, op.gained))
        yield Claim(Message(keys[op.what], args), (where,), tuple(filter(None, names)))


def _plain(name: str) -> str:
    return name.rsplit("::", 1)[-1].rsplit(".", 1)[-1]


def _name(declared: str) -> str:
    """The name in `is_speculative: bool`, `const Tensor& x`, `flag=False`."""
    return re.split(r"[:=]", declared, maxsplit=1)[0].split()[-1].lstrip("*&")


def _bindings(change: ChangeSet, config: Config, renamed: dict[str, str]) -> Iterator[Claim]:
    for file in change.files:
        head = change.unit(file.head_path) if file.head_path and not config.is_test(file.path) else None
        base = change.unit(file.base_path, Side.BASE) if file.base_path else None
        old, new = _bound(base), _bound(head)
        for name, bound in new.items():
            before = old.get(name, [])
            args = {"name": name, "path": bound[0].path, "count": len(bound[0].args)}
            names = (name, bound[0].function.rsplit("::", 1)[-1])
            where = tuple(Location(b.path, b.line) for b in bound)
            instead = renamed.get(name, "")
            if not before and instead in old and instead not in new:
                yield Claim(Message("binding-replaced", {**args, "old": instead}), where, (*names, instead))
            elif not before:
                yield Claim(Message("binding-added", args), where, names)
            elif len(bound) > len(before):
                yield Claim(Message("binding-repeated", {**args, "times": len(bound)}), where, names)
            elif before[0].args != bound[0].args:
                gained = [a for a in bound[0].args if a not in before[0].args]
                lost = [a for a in before[0].args if a not in bound[0].args]
                changed = Message("binding-changed", {**args, "gained": gained, "lost": lost})
                yield Claim(changed, where, (*names, *gained))


def _bound(unit: Unit | None) -> dict[str, list[Binding]]:
    named: dict[str, list[Binding]] = {}
    for binding in unit.bindings if unit else ():
        named.setdefault(binding.name, []).append(binding)
    return named


def _replacement(r: Replacement) -> Claim:
    args = {
        "old": r.old,
        "new": r.new,
        "places": len(r.places),
        "files": list(r.files),
        "left": len(r.left),
        "gone": not r.left,
    }
    return Claim(Message("replaced", args), r.places, (r.new,))


def _successor(s: successors.Successor) -> Claim:
    gained = [p for p in s.new.new_params if p not in s.old.old_params]
    lost = [p for p in s.old.old_params if p not in s.new.new_params]
    args = {"name": s.new.name, "old": s.old.name, "path": s.new.path, "gained": gained, "lost": lost}
    where = (Location(s.new.path, s.new.line), Location(s.old.path, s.old.line, side=Side.BASE))
    return Claim(Message("function-replaced", args), where, (s.new.name, s.old.name))


def _unchanged(facts: Facts, change: ChangeSet, config: Config) -> set[int]:
    """Facts of overloads whose parameters are as they were: told apart by name alone they look exchanged."""
    alike = {
        (d.head.path, d.head.qualname, d.head.start_line)
        for d in symbols.paired(change, config)
        if d.base is not None and same(d.base.params, d.head.params)
    }
    return {id(f) for f in facts.functions if f.what == "signature" and (f.path, f.name, f.line) in alike}


def _functions(facts: Facts, split: set[str]) -> Iterator[Claim]:
    many = Counter((f.path, f.what) for f in facts.functions if f.what in ("added", "removed"))
    for (path, what), count in many.items():
        if count >= _MANY:
            named = [f for f in facts.functions if (f.path, f.what) == (path, what)]
            yield _several(path, what, [f for f in named if f.name.rsplit(".", 1)[-1] not in split])
    for f in facts.functions:
        if many[f.path, f.what] >= _MANY:
            continue
        name = f.name
        where = (Location(f.path, f.line, side=Side.BASE if f.what == "removed" else Side.HEAD),)
        args = {"name": f.name, "path": f.path}
        if f.what == "renamed":
            yield Claim(Message("function-renamed", {**args, "old": f.old_name}), where, (name, f.old_name))
        elif f.what == "signature":
            kept = set(map(_name, f.removed_params))
            yield Claim(_signature(f, args), where, (name, *(n for n in map(_name, f.added_params) if n not in kept)))
        elif f.what == "added" and name.rsplit(".", 1)[-1] not in split:
            yield Claim(Message("function-added", args), where, (name,))
        elif f.what == "removed":
            yield Claim(Message("function-removed", args), where, (name,))


def _several(path: str, what: str, functions: list[FunctionFact]) -> Claim:
    """One sentence for the functions of a file that came, or went, together."""
    side = Side.BASE if what == "removed" else Side.HEAD
    names = [f.name for f in functions]
    args = {"path": path, "count": len(names), "names": names[:_MOST_NAMES], "more": max(0, len(names) - _MOST_NAMES)}
    key = Message("functions-added", args) if what == "added" else Message("functions-removed", args)
    return Claim(key, tuple(Location(path, f.line, side=side) for f in functions), tuple(names))


def _signature(f: FunctionFact, args: dict[str, str]) -> Message:
    gained, lost = f.added_params, f.removed_params
    if len(gained) == len(lost) == 1 and len(f.old_params) == len(f.new_params):
        place = f.new_params.index(gained[0])
        if f.old_params[place] == lost[0]:
            # A caller does not pass `self`.
            position = place + (f.new_params[0] not in ("self", "cls"))
            return Message("parameter-replaced", {**args, "old": lost[0], "new": gained[0], "position": position})
    return Message("signature", {**args, "gained": list(gained), "lost": list(lost)})


def _calls(change: ChangeSet, config: Config, known: set[str]) -> Iterator[Claim]:
    """Calls that came or went, of names that the repository defines and no other claim explains."""
    for found in symbols.calls(change, config):
        gained = [n for n in found.gained if n not in known and _defined(n, change, Side.HEAD, config)]
        lost = [n for n in found.lost if n not in known and _defined(n, change, Side.BASE, config)]
        if gained or lost:
            args = {"name": found.function.qualname, "gained": gained, "lost": lost, "path": found.function.path}
            yield Claim(Message("calls", args), (at(found.function),), (*_own(found.function), *gained))


def _defined(name: str, change: ChangeSet, side: Side, config: Config) -> bool:
    """Whether the product defines, registers or binds `name`, in few places."""
    python = re.compile(rf"\bdef {name}\(")
    cpp = re.compile(rf"\bPD_BUILD\w*\({name}\)|m\.def\(\"{name}\"|^\w[\w:<>&* ]*[\s&*]{name}\(")
    marks = {"python": python, "cpp": cpp}
    hits = [h for h in change.tree(side).find(name) if not config.is_test(h.path)]
    defined = {h.path for h in hits if (kind := language(h.path)) in marks and marks[kind].search(h.text)}
    return len(name) > 4 and 0 < len(defined) <= _MOST_DEFINITIONS


def _conditions(change: ChangeSet, config: Config) -> Iterator[Claim]:
    for found in symbols.conditions(change, config):
        args = {"name": found.function.qualname, "old": found.old, "new": found.new, "path": found.function.path}
        yield Claim(Message("condition", args), (Location(found.function.path, found.line),), _own(found.function))


def _written(change: ChangeSet, config: Config) -> Iterator[Claim]:
    seen: Counter[str] = Counter()
    for read in (symbols.unpacked, symbols.assignments, symbols.loops):
        for found in read(change, config):
            name = found.function.qualname
            seen[name] += 1
            if seen[name] > _MOST_WRITTEN:
                continue
            args = {"name": name, "target": found.target, "old": found.old, "new": found.new}
            if read is symbols.unpacked:
                message = Message("unpacked", args)
            else:
                message = Message("assigned", args) if read is symbols.assignments else Message("loop", args)
            # A field of a message ties its senders and receivers together: `meta[1]`.
            fields = _FIELD.findall(found.target if found.old or not found.new else found.new)
            yield Claim(message, (Location(found.function.path, found.line),), (*_own(found.function), *fields))


def _others(facts: Facts, told: set[str], change: ChangeSet) -> Iterator[Claim]:
    """Functions whose lines changed and of which nothing else is told; those of a file belong together."""
    for f in facts.functions:
        if f.what == "body" and f.name not in told:
            unit = change.unit(f.path)
            function = next((u for u in unit.functions if u.qualname == f.name), None) if unit else None
            file = change.changed(f.path)
            if function is None or file is None:
                continue
            written = len(file.head_lines() & set(range(function.start_line, function.end_line + 1)))
            args = {"name": f.name, "lines": written, "of": function.end_line - function.start_line + 1}
            yield Claim(Message("body", args), (Location(f.path, f.line),), (f.name, f.path))


def _branches(change: ChangeSet, config: Config) -> Iterator[Claim]:
    for found in symbols.branches(change, config):
        members = [f"{found.enum}.{m}" for m in found.members[:_MOST_BRANCHES]]
        args = {"name": found.function.qualname, "members": members, "new": found.new, "path": found.function.path}
        yield Claim(Message("branches", args), (Location(found.function.path, found.line),), _own(found.function))


_KEY = re.compile(r"""\b(\w+)\[["'](\w+)["']\]\s*=(?!=)""")


def _keys(change: ChangeSet, config: Config, known: set[str]) -> Iterator[Claim]:
    """Keys of a table (`share_inputs["x"] = ...`) that a file sets and did not."""
    for file in change.files:
        head = change.unit(file.head_path) if file.head_path and not config.is_test(file.path) else None
        base = change.unit(file.base_path, Side.BASE) if file.base_path else None
        if head is None or head.language != "python" or base is None:
            continue
        before = "\n".join(base.lines)
        set_here: dict[str, list[tuple[str, int]]] = {}
        for line in sorted(file.head_lines()):
            for table, key in _KEY.findall(head.text(line)):
                if key not in known and not re.search(rf"""["']{key}["']""", before):
                    set_here.setdefault(table, []).append((key, line))
        for table, keys in set_here.items():
            names = list(dict.fromkeys(k for k, _ in keys))
            places = tuple(Location(head.path, line) for _, line in keys)
            yield Claim(Message("keys", {"table": table, "names": names, "path": head.path}), places, tuple(names))


def _classes(change: ChangeSet, config: Config) -> Iterator[Claim]:
    """Classes that came or went, and members that an enum gained."""
    for file in change.files:
        if config.is_test(file.path) or file.mode != "file":
            continue
        head = change.unit(file.head_path) if file.head_path else None
        base = change.unit(file.base_path, Side.BASE) if file.base_path else None
        old = {c.name: c for c in base.classes} if base else {}
        for c in head.classes if head else ():
            if c.name not in old:
                yield Claim(
                    Message("class-added", {"name": c.name, "path": c.path}),
                    (Location(c.path, c.start_line),),
                    (c.name,),
                )
        new = {c.name for c in head.classes} if head else set()
        for name, c in old.items():
            if name not in new:
                where = (Location(c.path, c.start_line, side=Side.BASE),)
                yield Claim(Message("class-removed", {"name": name, "path": c.path}), where, (name,))


def _constants(facts: Facts, told: set[str]) -> Iterator[Claim]:
    """Constants and fields; those of a class that came or went (`told`) go without saying."""
    statuses = {f.path: f.status for f in facts.files}
    for c in facts.constants:
        if statuses.get(c.path) in ("A", "D") or c.name.rpartition(".")[0] in told:
            continue
        key = "constant-changed" if c.old and c.new else "constant-added" if c.new else "constant-removed"
        args = {"name": c.name, "path": c.path, "old": c.old, "new": c.new}
        where = Location(c.path, c.line, side=Side.HEAD if c.new else Side.BASE)
        yield Claim(Message(key, args), (where,), (c.name.rsplit(".", 1)[-1],))
