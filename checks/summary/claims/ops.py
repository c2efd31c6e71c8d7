"""What became of ops: how they are registered, and how they are bound to Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Location, Message, Side
from checks.domain.change_facts import Facts, OpFact
from checks.lang.ir.source_file import Binding, SourceFile
from checks.summary.changes.definition_replacements import OpReplacement, replacements_of_ops
from checks.summary.changes.name_replacements import NameReplacement
from checks.summary.changes.names import declared_name, last_part
from checks.summary.model import Claim

_Bindings = dict[str, list[Binding]]


def describe_ops(
    change: ChangeSet, facts: Facts, names: Sequence[NameReplacement]
) -> Iterator[Claim]:
    """Ops that are registered instead of others, newly, no more, or otherwise."""
    replaced: set[tuple[str, str]] = set()
    for replacement in replacements_of_ops(change, facts, names):
        replaced.add((replacement.path, replacement.old.name))
        replaced.add((replacement.path, replacement.new.name))
        yield _describe_replacement(replacement)
    for fact in facts.ops:
        if (fact.path, fact.name) not in replaced:
            yield _describe_op(fact, change)


def _describe_replacement(replacement: OpReplacement) -> Claim:
    old, new = replacement.old, replacement.new
    args = {
        "name": new.name,
        "old": old.name,
        "gained": list(replacement.gained),
        "lost": list(replacement.lost),
    }
    places = (Location(new.path, new.line), Location(old.path, old.line, side=Side.BASE))
    symbols = (new.name, last_part(new.kernel), old.name, last_part(old.kernel))
    return Claim(Message("op-replaced", args), places, tuple(filter(None, symbols)))


def _describe_op(fact: OpFact, change: ChangeSet) -> Claim:
    side = Side.BASE if fact.what == "removed" else Side.HEAD
    path = fact.path
    file = change.changed(fact.path)
    if side is Side.BASE and file is not None and file.base_path:
        path = file.base_path
    unit = change.unit(path, side)
    registered = [op for op in unit.ops if op.name == fact.name] if unit else []
    line, kernel = 0, ""
    if registered:
        line, kernel = registered[0].line, registered[0].kernel
    args = {"name": fact.name, "path": path, "gained": list(fact.gained), "lost": list(fact.lost)}
    match fact.what:
        case "added":
            message = Message("op-added", args)
        case "removed":
            message = Message("op-removed", args)
        case _:
            message = Message("op-changed", args)
    symbols = [fact.name, last_part(kernel)]
    for declaration in (*fact.gained, *fact.lost):
        # An input and the output that is the same tensor, `x` and `x_out`, are one name.
        symbols.append(declared_name(declaration).removesuffix("_out"))
    unique = tuple(filter(None, dict.fromkeys(symbols)))
    return Claim(message, (Location(path, line, side=side),), unique)


def describe_bindings(
    change: ChangeSet, config: Config, old_names: dict[str, str]
) -> Iterator[Claim]:
    """What became of the C++ functions that Python can call.

    `old_names` gives for a name the one that it replaced.
    """
    for file in change.files:
        base = change.base_unit(file)
        head = None
        if file.head_path and not config.is_test(file.path):
            head = change.unit(file.head_path)
        old, new = _bindings_by_name(base), _bindings_by_name(head)
        replaced = {old_names.get(name, "") for name in new if name not in old}
        for name, bindings in old.items():
            if name not in new and name not in replaced:
                yield _describe_removed_binding(name, bindings)
        for name, bindings in new.items():
            before = old.get(name, [])
            if _texts(base, before) == _texts(head, bindings):
                continue
            old_name = old_names.get(name, "")
            if old_name in new or old_name not in old:
                old_name = ""
            yield from _describe_binding(name, bindings, before, old_name)


def _describe_removed_binding(name: str, bindings: list[Binding]) -> Claim:
    message = Message("binding-removed", {"name": name, "path": bindings[0].path})
    places = tuple(Location(b.path, b.line, side=Side.BASE) for b in bindings)
    return Claim(message, places, _binding_symbols(name, bindings))


def _describe_binding(
    name: str, bindings: list[Binding], before: list[Binding], old_name: str
) -> Iterator[Claim]:
    """A name that is bound anew, more often, or with other arguments.

    `old_name` is the binding that it replaced, empty for none.
    """
    now = bindings[0]
    args = {"name": name, "path": now.path, "count": len(now.args)}
    symbols = _binding_symbols(name, bindings)
    places = tuple(Location(b.path, b.line) for b in bindings)
    if not before:
        if old_name:
            message = Message("binding-replaced", {**args, "old": old_name})
            yield Claim(message, places, (*symbols, old_name))
        else:
            yield Claim(Message("binding-added", args), places, symbols)
    elif len(bindings) > len(before):
        yield Claim(Message("binding-repeated", {**args, "times": len(bindings)}), places, symbols)
    elif before[0].args != now.args:
        gained = [a for a in now.args if a not in before[0].args]
        lost = [a for a in before[0].args if a not in now.args]
        message = Message("binding-changed", {**args, "gained": gained, "lost": lost})
        yield Claim(message, places, (*symbols, *gained, *lost))


def _binding_symbols(name: str, bindings: list[Binding]) -> tuple[str, ...]:
    return (name, bindings[0].function.rsplit("::", 1)[-1])


def _texts(unit: SourceFile | None, bindings: list[Binding]) -> list[str]:
    """The source of each binding; the arguments of equal ones need not be compared."""
    if unit is None:
        return []
    return [unit.text(b.line, b.end_line) for b in bindings]


def _bindings_by_name(unit: SourceFile | None) -> _Bindings:
    by_name: _Bindings = {}
    if unit is not None:
        for binding in unit.bindings:
            by_name.setdefault(binding.name, []).append(binding)
    return by_name
