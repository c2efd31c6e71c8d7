"""Transfers that a change lets happen for other ranks than before."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import DerivationStep, Location, Message, Side
from checks.domain.messages import MessageEnd, Messages
from checks.domain.ops import expressions_of
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Opaque, guarded_statements
from checks.lang.source import language
from checks.rules.semantics._rank_callers import RankCall, rank_calls
from checks.rules.semantics._rank_conditions import RankGate, TruthRow, rank_gates, truth_table

# A rank beside a number, either way round, or one that a `switch` or `match` tells cases of.
_RANK_TESTS = (
    re.compile(r"rank(?:_id|_idx)?[\s)\\]*(?:[!=]=|[<>])"),
    re.compile(r"[!=<>](?:(?<=[<>])=?|=)[\s(\\]*[\w.:>-]*rank"),
    re.compile(r"switch\b[^\n]*rank"),
    re.compile(r"match\b[^\n]*rank"),
)
# How many rows of the truth table a message quotes.
MOST_ROWS = 6


@dataclass(frozen=True, slots=True)
class GateChange:
    """The gate of one transfer before and after, and the `rows` on which the two differ."""

    before: RankGate
    after: RankGate
    rows: tuple[TruthRow, ...]
    unit: SourceFile
    base_unit: SourceFile

    @property
    def is_cpp(self) -> bool:
        return self.unit.language == "cpp"

    @property
    def closed_rows(self) -> list[TruthRow]:
        """The values for which the transfer happened and does not any more."""
        return [row for row in self.rows if row.before]

    @property
    def closed_texts(self) -> list[str]:
        return [row.text for row in self.closed_rows][:MOST_ROWS]

    @property
    def opened_texts(self) -> list[str]:
        """The values for which the transfer did not happen and does now."""
        return [row.text for row in self.rows if row.after][:MOST_ROWS]

    @property
    def rank(self) -> str:
        """The rank that the gate asks, or asked before; empty where it asks none."""
        ranks = self.after.ranks or self.before.ranks
        return ranks[0] if ranks else ""

    @property
    def ignored_flags(self) -> list[str]:
        """Parameters that decided before the change and that nothing reads after it."""
        params = {p.name for p in self.after.function.params}
        candidates = [flag for flag in self.before.flags if flag in params]
        return [flag for flag in candidates if not _reads(self.after.function, flag)]

    @property
    def flag(self) -> str:
        """The flag that decided beside the rank: an ignored one first, else the first of all."""
        if self.ignored_flags:
            return self.ignored_flags[0]
        for flag in self.before.flags:
            if flag.isidentifier():
                return flag
        return ""

    @property
    def place(self) -> Location:
        return Location(self.unit.path, self.after.first_line)

    def calls(self, change: ChangeSet, config: Config) -> list[RankCall]:
        """The Python calls that come to the gate of a C++ function with a rank."""
        if not self.is_cpp or not self.rank:
            return []
        found = rank_calls(self.after.function, self.unit, self.rank, self.flag, change, config)
        return list(found)

    def steps(self) -> tuple[DerivationStep, ...]:
        """Evidence: the gate before and after the change."""
        before, after = self.before.first_line, self.after.first_line
        base_place = Location(self.base_unit.path, before, before, Side.BASE)
        return (
            DerivationStep(base_place, self.base_unit.excerpt(before), Message("gate-before")),
            DerivationStep(self.place, self.unit.excerpt(after), Message("gate-after")),
        )


def gate_changes(change: ChangeSet, config: Config) -> list[GateChange]:
    """Every gate that the change altered for some ranks, found once for all rules."""
    return change.memo(GateChange, lambda: list(_gate_changes(change, config)))


def _gate_changes(change: ChangeSet, config: Config) -> Iterator[GateChange]:
    for old, new in change.changed_functions():
        if old is None or new is None or config.is_test(new.path):
            continue
        unit, base_unit = change.unit(new.path), _base_unit(new.path, change)
        if unit is None or base_unit is None:
            continue
        # Few functions ask for a rank, and to find the transfers of a file takes long.
        if not _asks_rank(old, base_unit) and not _asks_rank(new, unit):
            continue
        for before, after in _same_transfers(old, base_unit, new, unit, change, config):
            rows = tuple(truth_table(before, after))
            if rows and not _opened_by_parameter(rows, before, after):
                yield GateChange(before, after, rows, unit, base_unit)


def _base_unit(path: str, change: ChangeSet) -> SourceFile | None:
    file = change.changed(path)
    if file is None or not file.base_path:
        return None
    return change.unit(file.base_path, Side.BASE)


def _asks_rank(function: Function, unit: SourceFile) -> bool:
    text = unit.text_of(function)
    return any(form.search(text) for form in _RANK_TESTS)


def _same_transfers(
    old: Function,
    base_unit: SourceFile,
    new: Function,
    unit: SourceFile,
    change: ChangeSet,
    config: Config,
) -> Iterator[tuple[RankGate, RankGate]]:
    """The gates of the same transfer before and after; of a C++ function, the first."""
    after = rank_gates(new, _endpoints(unit, change, config, Side.HEAD))
    before = rank_gates(old, _endpoints(base_unit, change, config, Side.BASE))
    for name in dict.fromkeys(gate.name for gate in after):
        new_gates = [gate for gate in after if gate.name == name]
        old_gates = [gate for gate in before if gate.name == name]
        # Otherwise it is not certain which gate became which.
        if len(new_gates) == len(old_gates):
            seen: set[tuple[int, int]] = set()
            for old_gate, new_gate in zip(old_gates, new_gates, strict=True):
                places = (old_gate.first_line, new_gate.first_line)
                if places not in seen:
                    seen.add(places)
                    yield old_gate, new_gate
        if language(new.path) == "cpp":
            return


def _endpoints(
    unit: SourceFile, change: ChangeSet, config: Config, side: Side
) -> tuple[MessageEnd, ...]:
    if language(unit.path) != "cpp":
        return ()
    return Messages.of(change, config, side).ends_in(unit)


def _opened_by_parameter(rows: tuple[TruthRow, ...], before: RankGate, after: RankGate) -> bool:
    """Whether the change gave callers a new parameter that decides, which is meant."""
    new_params = {p.name for p in after.function.params} - {p.name for p in before.function.params}
    return bool(new_params & set(after.flags)) and all(row.after for row in rows)


def _reads(function: Function, name: str) -> bool:
    """Whether any statement of the function names `name`."""
    for guarded in guarded_statements(function.body):
        stmt = guarded.stmt
        if isinstance(stmt, Opaque) and name in stmt.text:
            return True
        if any(name in E.names(top) for top in expressions_of(stmt)):
            return True
    return False
