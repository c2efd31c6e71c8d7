"""Functions that changed inside only: their few new lines, or how many there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from checks.core.change import ChangeSet, FileChange
from checks.core.config import Config
from checks.core.finding import Location, Message
from checks.domain.change_facts import Facts, FunctionFact
from checks.domain.rewrites import Rewrite, find_rewrites
from checks.lang.ir.source_file import Function
from checks.summary.changes.layout import find_relaid_functions, only_renamed
from checks.summary.changes.line_diff import find_line_changes
from checks.summary.changes.moves import find_moves
from checks.summary.changes.sides import base_of
from checks.summary.claims.claim_locations import location_of
from checks.summary.claims.wording import first_names
from checks.summary.model import Claim

_MOST_REWRITES = 3


def describe_layout_changes(change: ChangeSet, config: Config) -> Iterator[Claim]:
    """The functions of a file of which only layout and comments changed, in one sentence.

    Of those that moved, the sentence about the move says it.
    """
    moves = find_moves(change, config)
    moved = {(f.path, f.start_line) for move in moves for f in move.functions}
    by_path: dict[str, list[Function]] = {}
    for function in find_relaid_functions(change, config):
        if (function.path, function.start_line) in moved:
            continue
        by_path.setdefault(function.path, []).append(function)
    for path, functions in by_path.items():
        names = list(dict.fromkeys(f.qualname for f in functions))
        args = {
            "path": path,
            **first_names(names),
        }
        places = tuple(location_of(function) for function in functions)
        yield Claim(Message("layout", args), places, tuple(names))


def describe_other_bodies(
    facts: Facts,
    symbols: set[str],
    change: ChangeSet,
    exchanged: Sequence[tuple[str, str]],
) -> Iterator[Claim]:
    """Functions whose lines changed and that no other claim (`symbols`) is about."""
    for fact in facts.functions:
        if fact.what == "body" and fact.name not in symbols:
            yield from _describe_body(fact, change, exchanged)


def _describe_body(
    fact: FunctionFact, change: ChangeSet, exchanged: Sequence[tuple[str, str]]
) -> Iterator[Claim]:
    unit, file = change.unit(fact.path), change.changed(fact.path)
    if unit is None or file is None:
        return
    function = _function_at(fact.line, unit.functions_named.get(fact.name, []))
    if function is None:
        return
    base = base_of(fact.path, change)
    # The path among the symbols keeps the small changes of a file in one step.
    symbols = (fact.name, fact.path)
    lines = find_line_changes(function, unit, base, file)
    for line in lines:
        if not only_renamed(line.old, line.new, exchanged):
            shown = {"name": fact.name, "old": line.old, "new": line.new, "path": fact.path}
            yield Claim(Message("line", shown), (Location(fact.path, line.line),), symbols)
    rewrites = [] if lines else _describe_rewrites(fact, change, file, symbols)
    yield from rewrites
    if lines or rewrites:
        return
    old_functions = base.functions_named.get(fact.name, []) if base else []
    removed = _count_inside(old_functions[0], file.base_lines()) if old_functions else 0
    args = {
        "name": fact.name,
        "lines": _count_inside(function, file.head_lines()),
        "of": function.end_line - function.start_line + 1,
        "gone": removed,
    }
    yield Claim(Message("body", args), (Location(fact.path, fact.line),), symbols)


def _describe_rewrites(
    fact: FunctionFact, change: ChangeSet, file: FileChange, symbols: tuple[str, ...]
) -> list[Claim]:
    """The statements that were rewritten, also those over several lines: at most three."""
    claims = []
    for rewrite in find_rewrites(change, file):
        if rewrite.function == fact.name:
            message = Message(f"rewrite-{rewrite.kind}", _rewrite_args(rewrite))
            claims.append(Claim(message, (Location(fact.path, rewrite.line),), symbols))
    return claims[:_MOST_REWRITES]


def _rewrite_args(rewrite: Rewrite) -> dict[str, str]:
    return {
        "name": rewrite.function,
        "target": rewrite.target,
        "old": rewrite.before,
        "new": rewrite.after,
    }


def _function_at(line: int, functions: Sequence[Function]) -> Function | None:
    for function in functions:
        if function.start_line == line:
            return function
    return None


def _count_inside(function: Function, lines: set[int]) -> int:
    return sum(1 for line in lines if function.covers(line))
