"""What became of functions: cut, moved, renamed, called differently, added, removed, or changed inside only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Location, Message, Side
from checks.domain.change_facts import Facts, FunctionFact
from checks.lang.ir.source_file import Function
from checks.summary import call_changes, layout, pairs
from checks.summary.claims.claim_locations import at, declared_name, own_names
from checks.summary.definitions import defined
from checks.summary.line_diff import Line, rewritten
from checks.summary.model import Claim
from checks.summary.successors import Successor

_MANY = 4
_MOST_NAMES = 8


def splits(change: ChangeSet, config: Config) -> Iterator[Claim]:
    for split in pairs.splits(change, config):
        names = [p.name for p in split.parts]
        args = {
            "name": split.whole.name,
            "parts": names,
            "shares": [f"{share:.0%}" for share in split.shares],
            "path": split.whole.path,
        }
        key = Message("split", args) if len(names) > 1 else Message("extracted", args)
        yield Claim(
            key, (at(split.whole), *map(at, split.parts)), (*own_names(split.whole), *names)
        )


def carried(change: ChangeSet, config: Config, known: set[str]) -> Iterator[Claim]:
    """New functions with the code of another, but for those that another sentence says so of (`known`)."""
    for new, old, share in pairs.carried(change, config):
        if new.name not in known:
            args = {
                "name": new.qualname,
                "old": old.qualname,
                "share": f"{share:.0%}",
                "path": new.path,
            }
            yield Claim(
                Message("carried", args), (at(new), at(old)), (*own_names(new), *own_names(old))
            )


def moves(change: ChangeSet, config: Config) -> Iterator[Claim]:
    for before, now in pairs.moved(change, config):
        args = {"name": now.qualname, "old": before.path, "new": now.path}
        yield Claim(Message("moved", args), (at(now),), own_names(now))


def successor(s: Successor) -> Claim:
    gained = [p for p in s.new.new_params if p not in s.old.old_params]
    lost = [p for p in s.old.old_params if p not in s.new.new_params]
    args = {
        "name": s.new.name,
        "old": s.old.name,
        "path": s.new.path,
        "gained": gained,
        "lost": lost,
    }
    where = (Location(s.new.path, s.new.line), Location(s.old.path, s.old.line, side=Side.BASE))
    return Claim(Message("function-replaced", args), where, (s.new.name, s.old.name))


def remade(
    change: ChangeSet,
    config: Config,
    facts: Facts,
    successive: Iterable[Successor],
    split: set[str],
) -> Iterator[Claim]:
    """Functions that came, went or are called differently, and that nothing else was said of (`split`: cut so)."""
    known = {id(f) for s in successive for f in (s.old, s.new)} | _unchanged(facts, change, config)
    told = [f for f in facts.functions if id(f) not in known]
    many = Counter((f.path, f.what) for f in told if f.what in ("added", "removed"))
    for (path, what), count in many.items():
        if count >= _MANY:
            named = [f for f in told if (f.path, f.what) == (path, what)]
            yield _several(path, what, [f for f in named if f.name.rsplit(".", 1)[-1] not in split])
    seen: set[tuple[str, str, str]] = set()
    for f in told:
        # Two under one name, each for a platform, came together.
        if many[f.path, f.what] < _MANY and (f.path, f.name, f.what) not in seen:
            seen.add((f.path, f.name, f.what))
            yield from _one(f, split)


def _one(f: FunctionFact, split: set[str]) -> Iterator[Claim]:
    where = (Location(f.path, f.line, side=Side.BASE if f.what == "removed" else Side.HEAD),)
    args = {"name": f.name, "path": f.path}
    if f.what == "renamed":
        yield Claim(
            Message("function-renamed", {**args, "old": f.old_name}), where, (f.name, f.old_name)
        )
    elif f.what == "signature":
        came, went = (
            list(map(declared_name, params)) for params in (f.added_params, f.removed_params)
        )
        exchanged = {*came} & {*went}
        yield Claim(
            _signature(f, args), where, (f.name, *(n for n in (*came, *went) if n not in exchanged))
        )
    elif f.what == "added" and f.name.rsplit(".", 1)[-1] not in split:
        yield Claim(Message("function-added", args), where, (f.name,))
    elif f.what == "removed":
        yield Claim(Message("function-removed", args), where, (f.name,))


def _several(path: str, what: str, functions: list[FunctionFact]) -> Claim:
    """One sentence for the functions of a file that came, or went, together."""
    side = Side.BASE if what == "removed" else Side.HEAD
    names = [f.name for f in functions]
    args = {
        "path": path,
        "count": len(names),
        "names": names[:_MOST_NAMES],
        "more": max(0, len(names) - _MOST_NAMES),
    }
    key = (
        Message("functions-added", args) if what == "added" else Message("functions-removed", args)
    )
    return Claim(key, tuple(Location(path, f.line, side=side) for f in functions), tuple(names))


def _signature(f: FunctionFact, args: dict[str, str]) -> Message:
    gained, lost = f.added_params, f.removed_params
    optional = len(gained) == len(lost) == 1 and gained[0].startswith(f"{lost[0]}=")
    if len(gained) == len(lost) == 1 and len(f.old_params) == len(f.new_params) and not optional:
        place = f.new_params.index(gained[0])
        if f.old_params[place] == lost[0]:
            # A caller does not pass `self`.
            position = place + (f.new_params[0] not in ("self", "cls"))
            return Message(
                "parameter-replaced",
                {**args, "old": lost[0], "new": gained[0], "position": position},
            )
    if optional:
        moved = f.new_params.index(gained[0]) != f.old_params.index(lost[0])
        return Message(
            "parameter-optional", {**args, "old": lost[0], "new": gained[0], "moved": moved}
        )
    return Message("signature", {**args, "gained": list(gained), "lost": list(lost)})


def _unchanged(facts: Facts, change: ChangeSet, config: Config) -> set[int]:
    """Facts of overloads whose parameters are as they were: told apart by name alone they look exchanged."""
    alike = {
        (d.head.path, d.head.qualname, d.head.start_line)
        for d in pairs.paired(change, config)
        if d.base is not None and pairs.same_parameters(d.base, d.head)
    }
    return {
        id(f)
        for f in facts.functions
        if f.what == "signature" and (f.path, f.name, f.line) in alike
    }


def laid_out(change: ChangeSet, config: Config) -> Iterator[Claim]:
    """The functions of a file of which nothing but layout and comments changed, in one sentence."""
    alike: dict[str, list[Function]] = {}
    for function in layout.laid_out(change, config):
        alike.setdefault(function.path, []).append(function)
    for path, functions in alike.items():
        names = list(dict.fromkeys(f.qualname for f in functions))
        args = {
            "path": path,
            "names": names[:_MOST_NAMES],
            "more": max(0, len(names) - _MOST_NAMES),
        }
        yield Claim(Message("layout", args), tuple(map(at, functions)), tuple(names))


def first_calls(change: ChangeSet, config: Config) -> Iterator[Claim]:
    """What new functions call that nothing in their file called before, or nothing for their hardware."""
    for found in call_changes.first_calls(change, config):
        names = [n for n in found.gained if defined(n, change, Side.HEAD, config)]
        if names:
            kind = call_changes.hardware(found.function, config)
            args = {
                "name": found.function.qualname,
                "calls": names,
                "hardware": kind,
                "path": found.function.path,
            }
            yield Claim(
                Message("first-calls", args), (at(found.function),), own_names(found.function)
            )


def others(
    facts: Facts, told: set[str], change: ChangeSet, exchanged: Sequence[tuple[str, str]]
) -> Iterator[Claim]:
    """Functions whose lines changed and of which nothing else is told; those of a file belong together."""
    for f in facts.functions:
        if f.what == "body" and f.name not in told:
            unit, file = change.unit(f.path), change.changed(f.path)
            base = change.unit(file.base_path, Side.BASE) if file and file.base_path else None
            functions = unit.functions_named.get(f.name, []) if unit else []
            function = next((u for u in functions if u.start_line == f.line), None)
            if function is None or file is None or unit is None:
                continue
            lines = rewritten(function, unit, base, file)
            told_by_names = (layout.only_renamed(line.old, line.new, exchanged) for line in lines)
            yield from (
                _line(f.name, n, f.path)
                for n, known in zip(lines, told_by_names, strict=True)
                if not known
            )
            if lines:
                continue
            before = next(iter(base.functions_named.get(f.name, [])), None) if base else None
            args = {
                "name": f.name,
                "lines": _inside(function, file.head_lines()),
                "of": function.end_line - function.start_line + 1,
                "gone": _inside(before, file.base_lines()) if before else 0,
            }
            yield Claim(Message("body", args), (Location(f.path, f.line),), (f.name, f.path))


def _line(name: str, line: Line, path: str) -> Claim:
    args = {"name": name, "old": line.old, "new": line.new, "path": path}
    return Claim(Message("line", args), (Location(path, line.line),), (name, path))


def _inside(function: Function, lines: set[int]) -> int:
    return len(lines & set(range(function.start_line, function.end_line + 1)))
