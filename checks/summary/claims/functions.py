"""What became of functions: cut, moved, replaced, renamed, called differently, added, removed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Location, Message, Side
from checks.domain.change_facts import Facts, FunctionFact
from checks.summary.changes.classes import find_class_changes
from checks.summary.changes.definition_replacements import FunctionReplacement
from checks.summary.changes.moves import Move, find_moves
from checks.summary.changes.names import declared_name
from checks.summary.changes.pairs import (
    altered_functions,
    find_carried_code,
    find_splits,
    same_parameters,
)
from checks.summary.claims.claim_locations import location_of, names_of
from checks.summary.claims.wording import LEAST_TOGETHER, first_names
from checks.summary.model import Claim


def describe_splits(change: ChangeSet, config: Config) -> Iterator[Claim]:
    """Functions that handed code to new functions, which they call."""
    for split in find_splits(change, config):
        part_names = [part.name for part in split.parts]
        args = {
            "name": split.whole.name,
            "parts": part_names,
            "shares": [f"{share:.0%}" for share in split.shares],
            "path": split.whole.path,
        }
        message = Message("extracted", args)
        if len(part_names) > 1:
            message = Message("split", args)
        places = (location_of(split.whole), *map(location_of, split.parts))
        yield Claim(message, places, (*names_of(split.whole), *part_names))


def describe_carried_code(
    change: ChangeSet, config: Config, split_names: set[str]
) -> Iterator[Claim]:
    """New functions with the code of another one, but for those in a claim about a split."""
    for carried in find_carried_code(change, config):
        new, old = carried.new, carried.old
        if new.name in split_names:
            continue
        args = {
            "name": new.qualname,
            "old": old.qualname,
            "share": f"{carried.share:.0%}",
            "path": new.path,
        }
        places = (location_of(new), location_of(old))
        yield Claim(Message("carried", args), places, (*names_of(new), *names_of(old)))


def describe_moves(change: ChangeSet, config: Config) -> Iterator[Claim]:
    """What stands in another file now, one sentence for all that went the same way."""
    together: dict[tuple[str, str, bool], list[Move]] = {}
    for move in find_moves(change, config):
        together.setdefault((move.old, move.new, move.unchanged), []).append(move)
    for (old, new, unchanged), moves in together.items():
        names = list(dict.fromkeys(move.name for move in moves))
        args = {
            **first_names(names),
            "old": old,
            "new": new,
            "unchanged": unchanged,
        }
        places = tuple(Location(new, move.line) for move in moves)
        yield Claim(Message("moved", args), places, tuple(_names_of_moves(moves)))


def _names_of_moves(moves: Sequence[Move]) -> Iterator[str]:
    for move in moves:
        yield move.name
        for function in move.functions:
            yield from names_of(function)


def describe_replacement(replacement: FunctionReplacement) -> Claim:
    """A function that stands there instead of another one, with the parameters that differ."""
    old, new = replacement.old, replacement.new
    args = {
        "name": new.name,
        "old": old.name,
        "path": new.path,
        "gained": [p for p in new.new_params if p not in old.old_params],
        "lost": [p for p in old.old_params if p not in new.new_params],
    }
    places = (Location(new.path, new.line), Location(old.path, old.line, side=Side.BASE))
    return Claim(Message("function-replaced", args), places, (new.name, old.name))


def describe_definitions(
    change: ChangeSet,
    config: Config,
    facts: Facts,
    replaced: Sequence[FunctionReplacement],
    with_known_code: set[str],
) -> Iterator[Claim]:
    """Functions that came, went or are called differently, and that no other claim is about.

    `with_known_code` are new functions of which a claim says already where their code comes from.
    """
    functions = _functions_left_to_tell(change, config, facts, replaced)
    counts = Counter((f.path, f.what) for f in functions if f.what in ("added", "removed"))
    for (path, what), count in counts.items():
        if count >= LEAST_TOGETHER:
            together = [f for f in functions if (f.path, f.what) == (path, what)]
            together = [f for f in together if _method_name(f) not in with_known_code]
            yield _describe_several(path, what, together)
    seen: set[tuple[str, str, str]] = set()
    for fact in functions:
        # Two under one name, each for a platform, came together.
        key = (fact.path, fact.name, fact.what)
        if counts[fact.path, fact.what] >= LEAST_TOGETHER or key in seen:
            continue
        seen.add(key)
        if fact.what != "added" or _method_name(fact) not in with_known_code:
            yield from _describe_one(fact)


def _functions_left_to_tell(
    change: ChangeSet, config: Config, facts: Facts, replaced: Sequence[FunctionReplacement]
) -> list[FunctionFact]:
    """The changed functions but those that were replaced or moved, methods of a class that came or
    went with them, and overloads that did not change."""
    described = [fact for r in replaced for fact in (r.old, r.new)]
    moved = _places_of_moves(change, config)
    classes = _changed_classes(change, config)
    same_as_before = _functions_with_same_parameters(change, config)
    functions = []
    for fact in facts.functions:
        if any(fact is other for other in described):
            continue
        if (fact.path, fact.name, fact.what) in moved:
            continue
        if (fact.path, _owner(fact), fact.what) in classes:
            continue
        # Overloads are paired by name alone, so their parameters may look exchanged.
        place = (fact.path, fact.name, fact.line)
        if fact.what == "signature" and place in same_as_before:
            continue
        functions.append(fact)
    return functions


def _places_of_moves(change: ChangeSet, config: Config) -> set[tuple[str, str, str]]:
    """(path, name, `added` or `removed`) of both ends of every move."""
    places = set()
    for move in find_moves(change, config):
        for function in move.functions:
            places.add((move.new, function.qualname, "added"))
            places.add((move.old, function.qualname, "removed"))
    return places


def _changed_classes(change: ChangeSet, config: Config) -> set[tuple[str, str, str]]:
    """(path, name, `added` or `removed`) of the classes that came or went."""
    changed: set[tuple[str, str, str]] = set()
    for classes in find_class_changes(change, config):
        changed.update((cls.path, cls.name, "added") for cls in classes.added)
        changed.update((cls.path, cls.name, "removed") for cls in classes.removed)
    return changed


def _owner(fact: FunctionFact) -> str:
    """What stands before the function's own name: a class, or a function around it."""
    return re.sub(r"(?:\.|::)\w+$", "", fact.name)


def _functions_with_same_parameters(change: ChangeSet, config: Config) -> set[tuple[str, str, int]]:
    """(path, name, line) of changed functions whose parameters are as they were."""
    same = set()
    for delta, base, _ in altered_functions(change, config):
        if same_parameters(base, delta.head):
            same.add((delta.head.path, delta.head.qualname, delta.head.start_line))
    return same


def _method_name(fact: FunctionFact) -> str:
    """The name without its Python class."""
    return fact.name.rsplit(".", 1)[-1]


def _describe_one(fact: FunctionFact) -> Iterator[Claim]:
    """One sentence, or none for a function of which only the body changed."""
    args = {"name": fact.name, "path": fact.path}
    place = Location(fact.path, fact.line)
    match fact.what:
        case "added":
            yield Claim(Message("function-added", args), (place,), (fact.name,))
        case "removed":
            place = Location(fact.path, fact.line, side=Side.BASE)
            yield Claim(Message("function-removed", args), (place,), (fact.name,))
        case "renamed":
            message = Message("function-renamed", {**args, "old": fact.old_name})
            yield Claim(message, (place,), (fact.name, fact.old_name))
        case "signature":
            symbols = (fact.name, *_exchanged_parameters(fact))
            yield Claim(_signature_message(fact, args), (place,), symbols)


def _exchanged_parameters(fact: FunctionFact) -> list[str]:
    """The names of parameters that only one side has."""
    gained = [declared_name(parameter) for parameter in fact.added_params]
    lost = [declared_name(parameter) for parameter in fact.removed_params]
    return [name for name in (*gained, *lost) if name not in gained or name not in lost]


def _describe_several(path: str, what: str, functions: list[FunctionFact]) -> Claim:
    """One sentence for the functions of a file that came, or went, together."""
    names = [fact.name for fact in functions]
    args = {
        "path": path,
        "count": len(names),
        **first_names(names),
    }
    if what == "added":
        message, side = Message("functions-added", args), Side.HEAD
    else:
        message, side = Message("functions-removed", args), Side.BASE
    places = tuple(Location(path, fact.line, side=side) for fact in functions)
    return Claim(message, places, tuple(names))


def _signature_message(fact: FunctionFact, args: dict[str, str]) -> Message:
    """How callers must change: one parameter exchanged, one with a default now, or any other."""
    gained, lost = fact.added_params, fact.removed_params
    if len(gained) == 1 and len(lost) == 1:
        new, old = gained[0], lost[0]
        new_index = fact.new_params.index(new)
        exchange = {**args, "old": old, "new": new}
        if new.startswith(f"{old}="):
            moved = new_index != fact.old_params.index(old)
            return Message("parameter-optional", {**exchange, "moved": moved})
        if len(fact.old_params) == len(fact.new_params) and fact.old_params[new_index] == old:
            # A caller does not pass `self`.
            is_method = fact.new_params[0] in ("self", "cls")
            position = new_index if is_method else new_index + 1
            return Message("parameter-replaced", {**exchange, "position": position})
    return Message("signature", {**args, "gained": list(gained), "lost": list(lost)})
