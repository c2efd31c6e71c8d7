"""What functions newly call, and what they newly pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Message, Side
from checks.domain.host_waits import WAITS_AND_REMEDIES
from checks.lang.ir.source_file import Function
from checks.summary.changes.arguments import (
    ArgumentChange,
    find_argument_changes,
    find_repetition_changes,
)
from checks.summary.changes.call_changes import find_call_changes, find_first_calls, hardware
from checks.summary.changes.definitions import is_defined
from checks.summary.changes.layout import only_renamed
from checks.summary.claims.claim_locations import line_of, location_of, names_of
from checks.summary.claims.wording import gained_and_lost, symbols_of_functions, which_functions
from checks.summary.model import Claim

_MOST_ARGUMENTS = 5


def describe_call_changes(
    change: ChangeSet, config: Config, explained: set[str], changed_names: set[str]
) -> Iterator[Claim]:
    """Calls that came or went, of names that the product defines; equal ones in one sentence.

    Names that another claim is about (`explained`) are left out. `changed_names` are those that the
    change made or altered: they tie their callers to the same step.
    """

    def is_telling(name: str, side: Side) -> bool:
        if name in explained:
            return False
        # No product defines what makes the host wait, and the speed of a step depends on it.
        return name in WAITS_AND_REMEDIES or is_defined(name, change, side, config)

    callers: dict[tuple[tuple[str, ...], tuple[str, ...]], list[Function]] = {}
    for calls in find_call_changes(change, config):
        gained = tuple(name for name in calls.gained if is_telling(name, Side.HEAD))
        lost = tuple(name for name in calls.lost if is_telling(name, Side.BASE))
        if gained or lost:
            callers.setdefault((gained, lost), []).append(calls.function)
    for (gained, lost), functions in callers.items():
        args = {"gained": list(gained), "lost": list(lost), **which_functions(functions)}
        ties = [name for name in (*gained, *lost) if name in changed_names]
        symbols = tuple(dict.fromkeys((*symbols_of_functions(functions), *ties)))
        places = tuple(location_of(function) for function in functions)
        yield Claim(Message("calls", args), places, symbols)


def describe_first_calls(change: ChangeSet, config: Config) -> Iterator[Claim]:
    """What new functions are the first of their file, or of their hardware, to call."""
    for calls in find_first_calls(change, config):
        function = calls.function
        names = [name for name in calls.gained if is_defined(name, change, Side.HEAD, config)]
        if not names:
            continue
        args = {
            "name": function.qualname,
            "calls": names,
            "hardware": hardware(function, config),
            "path": function.path,
        }
        yield Claim(Message("first-calls", args), (location_of(function),), names_of(function))


def describe_argument_changes(
    change: ChangeSet,
    config: Config,
    exchanged: Sequence[tuple[str, str]],
    changed_names: set[str],
) -> Iterator[Claim]:
    """Other arguments of a call, of a function that the product defines."""
    for arguments in find_argument_changes(change, config):
        function = arguments.function
        if _is_in_same_cpp_file(arguments, change):
            continue
        gained, lost = _without_renamed(arguments, exchanged)
        if not 0 < len(gained) + len(lost) <= _MOST_ARGUMENTS:
            continue
        if not is_defined(arguments.callee, change, Side.HEAD, config):
            continue
        args = {
            "name": function.qualname,
            "callee": arguments.called,
            "gained": gained,
            "lost": lost,
        }
        symbols = names_of(function)
        if arguments.callee in changed_names:
            symbols = (*symbols, arguments.callee)
        yield Claim(Message("passed", args), line_of(function, arguments.line), symbols)


def _is_in_same_cpp_file(arguments: ArgumentChange, change: ChangeSet) -> bool:
    """Whether the callee is a function of the same C++ file.

    A wrapper passes to its kernel what it got itself: that would be said twice.
    """
    unit = change.unit(arguments.function.path)
    if unit is None or unit.language != "cpp":
        return False
    return any(function.name == arguments.callee for function in unit.functions)


def _without_renamed(
    arguments: ArgumentChange, exchanged: Sequence[tuple[str, str]]
) -> tuple[list[str], list[str]]:
    """(gained, lost) without the arguments that only got another name."""
    renamed_old, renamed_new = set(), set()
    for old in arguments.lost:
        for new in arguments.gained:
            if only_renamed(old, new, exchanged):
                renamed_old.add(old)
                renamed_new.add(new)
    gained = [new for new in arguments.gained if new not in renamed_new]
    lost = [old for old in arguments.lost if old not in renamed_old]
    return gained, lost


def describe_repetition_changes(change: ChangeSet, config: Config) -> Iterator[Claim]:
    """More or fewer things for which a function calls another again and again."""
    for calls in find_repetition_changes(change, config):
        function = calls.function
        args = {
            "name": function.qualname,
            "callee": calls.called,
            **gained_and_lost(calls.gained, calls.lost),
        }
        place = line_of(function, calls.line)
        yield Claim(Message("repeated", args), place, names_of(function))
