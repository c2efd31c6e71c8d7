"""What changed inside functions, statement by statement."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Location, Message
from checks.summary.changes.branches import find_new_branches
from checks.summary.changes.conditions import find_condition_changes
from checks.summary.changes.control_flow import Narrowing, NewExit, find_narrowings, find_new_exits
from checks.summary.changes.layout import only_renamed
from checks.summary.changes.overrides import ExchangedNames, find_dropped_cases, find_overrides
from checks.summary.changes.state_changes import find_state_changes
from checks.summary.changes.statements import StatementChange, find_statement_changes
from checks.summary.claims.claim_locations import line_of, location_of, names_of
from checks.summary.claims.wording import (
    MOST_NAMED,
    gained_and_lost,
    symbols_of_functions,
    which_functions,
)
from checks.summary.model import Claim

_MOST_BRANCHES = 6
_MOST_STATEMENTS = 4
# The target of an assignment that sets more than a variable.
_STATE = re.compile(r"[.\[]")
# A field of a message: `meta[1]` behind a dot.
_FIELD = re.compile(r"\.(\w+\[\d+\])")


def describe_conditions(
    change: ChangeSet, config: Config, exchanged: ExchangedNames
) -> Iterator[Claim]:
    """Tests of branches that were written anew."""
    for condition in find_condition_changes(change, config):
        if only_renamed(condition.old, condition.new, exchanged):
            continue
        function = condition.function
        args = {
            "names": [function.qualname],
            "old": condition.old,
            "new": condition.new,
            "path": function.path,
        }
        message = Message("condition", args)
        if condition.part:
            message = Message("condition-part", args)
        yield Claim(message, line_of(function, condition.line), names_of(function))


def describe_statement_changes(
    change: ChangeSet, config: Config, exchanged: ExchangedNames
) -> Iterator[Claim]:
    """Statements before and after, at most four of a function and one of a line."""
    count_in_function: Counter[str] = Counter()
    described: set[tuple[str, int]] = set()
    for statement in find_statement_changes(change, config):
        function = statement.function
        line = (function.path, statement.line)
        if line in described or _is_only_renamed(statement, exchanged):
            continue
        described.add(line)
        count_in_function[function.qualname] += 1
        if count_in_function[function.qualname] > _MOST_STATEMENTS:
            continue
        symbols = (*names_of(function), *_message_fields(statement))
        yield Claim(_statement_message(statement), line_of(function, statement.line), symbols)


def _is_only_renamed(statement: StatementChange, exchanged: ExchangedNames) -> bool:
    if not statement.old or not statement.new:
        return False
    return only_renamed(statement.old, statement.new, exchanged)


def _message_fields(statement: StatementChange) -> list[str]:
    """The fields of a message in the statement: they tie its senders and receivers together."""
    is_read = statement.new and not statement.old
    return _FIELD.findall(statement.new if is_read else statement.target)


def _statement_message(statement: StatementChange) -> Message:
    args = {
        "names": [statement.function.qualname],
        "target": statement.target,
        "old": statement.old,
        "new": statement.new,
    }
    match statement.kind:
        case "unpacked":
            return Message("unpacked", args)
        case "loop":
            return Message("loop", args)
        case "returned":
            return Message("returned", args)
    if _STATE.search(statement.target):
        return Message("assigned", args)
    return Message("set-local", args)


def describe_new_exits(change: ChangeSet, config: Config) -> Iterator[Claim]:
    """New ways out, one sentence for all that leave in the same way under the same test."""
    alike: dict[tuple[str, str], list[NewExit]] = {}
    for new_exit in find_new_exits(change, config):
        alike.setdefault((new_exit.how, new_exit.test), []).append(new_exit)
    for (how, test), exits in alike.items():
        functions = [new_exit.function for new_exit in exits]
        places = tuple(Location(e.function.path, e.line) for e in exits)
        args = {"how": how, "test": test, **which_functions(functions)}
        yield Claim(Message("exit", args), places, symbols_of_functions(functions))


def describe_state_changes(change: ChangeSet, config: Config) -> Iterator[Claim]:
    """State that functions newly set, or set no more."""
    for state in find_state_changes(change, config):
        function = state.function
        args = {
            "name": function.qualname,
            **gained_and_lost(state.gained, state.lost),
            "path": function.path,
        }
        yield Claim(Message("state", args), line_of(function, state.line), names_of(function))


def describe_dropped_cases(
    change: ChangeSet, config: Config, exchanged: ExchangedNames
) -> Iterator[Claim]:
    """Cases that were refused and no longer are."""
    for case in find_dropped_cases(change, config, exchanged):
        function = case.function
        args = {"name": function.qualname, "test": case.test, "note": case.note}
        yield Claim(Message("dropped", args), line_of(function, case.line), names_of(function))


def describe_overrides(
    change: ChangeSet, config: Config, exchanged: ExchangedNames
) -> Iterator[Claim]:
    """Special cases of what a function sets, that came or went."""
    for override in find_overrides(change, config, exchanged):
        function = override.function
        args = {
            "name": function.qualname,
            "target": override.target,
            "value": override.value,
            "test": override.test,
            "gone": override.gone,
        }
        places = line_of(function, override.line)
        if override.gone:
            # Its line is one of the base; the head has only the function to show.
            places = (location_of(function),)
        yield Claim(Message("override", args), places, names_of(function))


def describe_narrowings(change: ChangeSet, config: Config) -> Iterator[Claim]:
    """What now runs only under a condition, one sentence for everything under the same one."""
    by_test: dict[tuple[str, str, str], list[Narrowing]] = {}
    for narrowing in find_narrowings(change, config):
        function = narrowing.function
        key = (function.path, function.qualname, narrowing.test)
        by_test.setdefault(key, []).append(narrowing)
    for (path, name, test), narrowings in by_test.items():
        called = dict.fromkeys(n.what for n in narrowings if n.calls)
        assigned = dict.fromkeys(n.what for n in narrowings if not n.calls)
        args = {
            "name": name,
            "test": test,
            "path": path,
            "sets": list(assigned)[:MOST_NAMED],
            "calls": list(called)[:MOST_NAMED],
        }
        places = tuple(Location(path, n.line) for n in narrowings)
        yield Claim(Message("narrowed", args), places, names_of(narrowings[0].function))


def describe_branches(change: ChangeSet, config: Config) -> Iterator[Claim]:
    """Values of an enum that a function newly compares with."""
    for branches in find_new_branches(change, config):
        function = branches.function
        args = {
            "name": function.qualname,
            "members": [f"{branches.enum}.{m}" for m in branches.members[:_MOST_BRANCHES]],
            "new": branches.new,
            "path": function.path,
        }
        place = line_of(function, branches.line)
        yield Claim(Message("branches", args), place, names_of(function))
