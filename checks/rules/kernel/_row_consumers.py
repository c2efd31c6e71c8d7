"""Who reads what a function returns, in the rest of the product, and whether past the rows that are valid."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction
from checks.core.config import Config
from checks.core.finding import Location, Message, Step
from checks.domain.keys import calling_files, product_files
from checks.domain.ops import Ops, arguments, callers, calls_of
from checks.domain.speculative_mode import called_speculatively, polarity
from checks.domain.tensors import cut, key_of
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, Return, guarded_statements
from checks.rules.kernel._rows_read import Rows, rows_read

CUT, KEPT, PAST, MOVED = "cut", "kept", "past", "moved"
_ASKS = frozenset({"isinstance", "len", "print", "type", "hasattr", "getattr", "str", "repr"})


@dataclass(frozen=True, slots=True)
class Reader:
    """`name` gets the tensor at `at`: it keeps to the valid rows, may read others, or puts the rows in another order.
    `rows` is what its code shows."""

    name: str
    kind: str
    at: Location
    text: str
    rows: Rows | None = None


@dataclass(frozen=True, slots=True)
class _Search:
    offsets: str
    filler: str
    hardware: frozenset[str]
    speculative: bool
    change: ChangeSet
    config: Config


def readers(
    delta: ChangedFunction,
    names: set[str],
    offsets: str,
    filler: str,
    change: ChangeSet,
    config: Config,
) -> tuple[Reader, ...]:
    """Those that get what `delta` makes of the tensors `names`, found by the field in which its callers keep it.

    Left out are readers that other hardware or decoding without speculation alone has, where `filler`, which fills
    the tensors, is of neither.
    """
    infos = Ops.of(change).named(filler)
    hardware = frozenset(config.hardware_of(i.unit.path) for i in infos)
    speculative = called_speculatively(delta.head, change, config)
    search = _Search(offsets, filler, hardware, speculative, change, config)
    found: dict[tuple[str, str], Reader] = {}
    for field in sorted(_fields(delta, names, change, config)):
        for path in product_files(field, change, config):
            unit = change.unit(path)
            for function in unit.functions if unit is not None and path != delta.unit.path else ():
                if unit is not None and field in unit.text(function.start_line, function.end_line):
                    for reader in _in_function(field, function, unit, search):
                        found.setdefault((reader.name, reader.kind), reader)
    return tuple(sorted(found.values(), key=lambda r: (r.kind, r.at.path, r.at.start_line)))


def steps(found: tuple[Reader, ...], offsets: str, change: ChangeSet) -> tuple[Step, ...]:
    """One step for each reader: the line that shows which rows it reads, and what follows."""
    return tuple(_step(r, offsets, change) for r in found)


def _step(reader: Reader, offsets: str, change: ChangeSet) -> Step:
    rows = reader.rows
    args = {
        "reader": reader.name,
        "offsets": offsets,
        "row": rows.row if rows else "",
        "at": reader.at,
    }
    if rows is None:
        said = Message("reader-whole", args)
        if reader.kind == CUT:
            said = Message("reader-cuts", args)
        elif reader.kind == MOVED:
            said = Message("reader-moves", args)
        return Step(reader.at, reader.text, said)
    unit = change.unit(rows.location.path)
    text = unit.text(rows.location.start_line).strip() if unit is not None else ""
    said = (
        Message("reader-keeps", {**args, "count": rows.count})
        if rows.count
        else Message("reader-other", args)
    )
    return Step(rows.location, text, said)


def _assigned(function: Function) -> Iterator[tuple[E.Expr, E.Expr | None]]:
    for guarded in guarded_statements(function.body):
        if isinstance(guarded.stmt, Assign):
            yield guarded.stmt.target, guarded.stmt.value


def _fields(delta: ChangedFunction, names: set[str], change: ChangeSet, config: Config) -> set[str]:
    """The attributes in which callers keep the part of the result that comes from `names`."""
    held = set(names)
    for stmt in (g.stmt for g in delta.statements):
        if (
            isinstance(stmt, Assign)
            and isinstance(stmt.target, E.Name)
            and E.names(stmt.value or stmt.target) & held
        ):
            held.add(stmt.target.id)
    places = {
        n
        for g in delta.statements
        if isinstance(g.stmt, Return) and isinstance(g.stmt.value, E.Sequence)
        for n, item in enumerate(g.stmt.value.items)
        if E.names(item) & held
    }
    found: set[str] = set()
    for path in calling_files(delta.head.name, change, config) if places else ():
        unit = change.unit(path)
        for function in callers(delta.head.name, unit) if unit is not None else ():
            local = {
                item.id
                for target, value in _assigned(function)
                if isinstance(value, E.Call)
                and E.callee(value) == delta.head.name
                and isinstance(target, E.Sequence)
                for n, item in enumerate(target.items)
                if n in places and isinstance(item, E.Name)
            }
            found |= {
                target.name
                for target, value in _assigned(function)
                if isinstance(target, E.Attr) and isinstance(value, E.Name) and value.id in local
            }
    return found


def _in_function(
    field: str, function: Function, unit: SourceFile, search: _Search
) -> Iterator[Reader]:
    alias, moved = set[str](), False
    for target, value in _assigned(function):
        if isinstance(target, E.Name) and value is not None and _holds(value, field, alias):
            alias.add(target.id)
        whole = E.dotted(target) or ""
        moved |= field in whole.split(".")[:-1]
    cuts = list(_cuts(field, function, alias))
    for at_line, _ in cuts:
        yield Reader(function.name, CUT, Location(unit.path, at_line), unit.text(at_line).strip())
    for call, guards in calls_of(function.body):
        if any(call.line >= line and set(around) <= set(guards) for line, around in cuts):
            continue
        given = [*call.args, *(v for _, v in call.keywords)]
        tensors = [a for a in given if _holds(a, field, alias)]
        if tensors and E.callee(call) not in _ASKS and not _elsewhere(function, guards, search):
            at = Location(unit.path, call.line)
            text = unit.text(call.line).strip()
            if moved:
                yield Reader(function.name, MOVED, at, text)
            else:
                yield from _called(call, tensors, at, text, search)


def _cuts(
    field: str, function: Function, alias: set[str]
) -> Iterator[tuple[int, tuple[E.Expr, ...]]]:
    """(line, guards) of the statements that put the first rows alone back into the field."""
    for guarded in guarded_statements(function.body):
        stmt = guarded.stmt
        if not isinstance(stmt, Assign) or stmt.value is None or not _keeps_in(stmt.target, field):
            continue
        if any(
            (base := cut(e)) is not None and _holds(base, field, alias) for e in E.walk(stmt.value)
        ):
            yield stmt.line, guarded.guards


def _keeps_in(target: E.Expr, field: str) -> bool:
    return field in (E.dotted(target) or "").split(".")[1:]


def _holds(expr: E.Expr, field: str, alias: set[str]) -> bool:
    whole = E.dotted(expr)
    return whole is not None and (field in whole.split(".")[1:] or whole.split(".")[0] in alias)


def _called(
    call: E.Call, tensors: list[E.Expr], at: Location, text: str, search: _Search
) -> Iterator[Reader]:
    name = E.callee(call)
    ops = [i for i in Ops.of(search.change).named(name) if i.function is not None]
    for op in [i for i in ops if not _other(i.unit.path, (), search)]:
        passed = arguments(call, op.params)
        offsets = [p for p, v in passed.items() if key_of(cut(v) or v) == search.offsets]
        given = {op.cpp_name(p) for p, v in passed.items() if v in tensors}
        rows = (
            rows_read(op.function, given, op.cpp_name(offsets[0]) if offsets else "")
            if op.function
            else None
        )
        if rows is not None:
            yield Reader(name, KEPT if rows.count else PAST, at, text, rows)
            return
    beside = any(key_of(cut(a) or a) == search.offsets for a in call.args)
    if not ops and not beside:
        yield Reader(name, PAST, at, text)


def _elsewhere(function: Function, guards: tuple[E.Expr, ...], search: _Search) -> bool:
    """Whether the padded tensor does not come here: other hardware, or decoding without speculation."""
    if _other(function.path, guards, search):
        return True
    sites: list[bool] = []
    for path in calling_files(function.name, search.change, search.config):
        unit = search.change.unit(path)
        for caller in callers(function.name, unit) if unit is not None else ():
            for call, around in calls_of(caller.body):
                if E.callee(call) == function.name:
                    sites.append(_other(path, around, search))
    return bool(sites) and all(sites)


def _other(path: str, guards: tuple[E.Expr, ...], search: _Search) -> bool:
    hardware = search.config.hardware_of(path)
    if hardware and search.hardware and hardware not in search.hardware:
        return True
    return search.speculative and any(
        polarity(g) is False and _asks_for_speculation(g) for g in guards
    )


def _asks_for_speculation(guard: E.Expr) -> bool:
    """Whether a condition is on speculative decoding as a whole, not on one method or part of it."""
    names = (
        e.name if isinstance(e, E.Attr) else e.id
        for e in E.walk(guard)
        if isinstance(e, E.Attr | E.Name)
    )
    return any("specul" in n.lower() for n in names)
