"""Who reads what a function returns, and whether past the rows that are valid."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction
from checks.core.config import Config
from checks.core.finding import DerivationStep, Location, Message
from checks.domain.keys import calling_files, product_files
from checks.domain.ops import OpInfo, Ops, arguments, calls_of, functions_calling
from checks.domain.speculative_mode import is_called_speculatively, polarity
from checks.domain.tensors import key_of, sliced_tensor
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, Return, guarded_statements
from checks.rules.kernel._code_walks import calls_in_file
from checks.rules.kernel._rows_read import RowRead, first_row_read

CUT, KEPT, PAST, MOVED = "cut", "kept", "past", "moved"
# These ask something about a tensor and do not read its rows.
_QUESTIONS = frozenset({"isinstance", "len", "print", "type", "hasattr", "getattr", "str", "repr"})


@dataclass(frozen=True, slots=True)
class RowConsumer:
    """A function `name` that gets the tensor at `at`, and what it does with its rows.

    `kind`: it keeps to the valid rows, cuts them, may read others (`PAST`), or puts them in another
    order (`MOVED`).

    `read` is what its code shows.
    """

    name: str
    kind: str
    at: Location
    text: str
    read: RowRead | None = None


@dataclass(frozen=True, slots=True)
class _Search:
    """What is known of the tensors: what tells their valid rows, and where their filler runs."""

    offsets: str
    hardware: frozenset[str]
    speculative: bool
    change: ChangeSet
    config: Config


@dataclass(frozen=True, slots=True)
class _Cut:
    """A statement that puts the first rows alone back into the field."""

    line: int
    guards: tuple[E.Expr, ...]


def find_consumers(
    changed: ChangedFunction,
    names: set[str],
    offsets: str,
    filler: str,
    change: ChangeSet,
    config: Config,
) -> tuple[RowConsumer, ...]:
    """Those that get what `changed` makes of the tensors `names`.

    They are found by the field in which the callers of the function keep its result.

    Left out are readers that other hardware or decoding without speculation alone has, where
    `filler`, which fills the tensors, is of neither.
    """
    ops = Ops.of(change).named(filler)
    hardware = frozenset(config.hardware_of(op.unit.path) for op in ops)
    speculative = is_called_speculatively(changed.head, change, config)
    search = _Search(offsets, hardware, speculative, change, config)
    found: dict[tuple[str, str], RowConsumer] = {}
    for field in sorted(_fields(changed, names, change, config)):
        for consumer in _consumers_of_field(field, changed, search):
            found.setdefault((consumer.name, consumer.kind), consumer)
    return tuple(sorted(found.values(), key=lambda c: (c.kind, c.at.path, c.at.start_line)))


def _consumers_of_field(
    field: str, changed: ChangedFunction, search: _Search
) -> Iterator[RowConsumer]:
    """The consumers outside the file of the changed function."""
    for path in product_files(field, search.change, search.config):
        unit = search.change.unit(path)
        # The function's own file is in the change, where its reader sees it.
        if unit is None or path == changed.unit.path:
            continue
        for function in unit.functions:
            if field in unit.text_of(function):
                yield from _in_function(field, function, unit, search)


def consumer_steps(
    consumers: tuple[RowConsumer, ...], offsets: str, change: ChangeSet
) -> tuple[DerivationStep, ...]:
    """One step for each consumer: the line that shows which rows it reads, and what follows."""
    return tuple(_step(consumer, offsets, change) for consumer in consumers)


def _step(consumer: RowConsumer, offsets: str, change: ChangeSet) -> DerivationStep:
    read = consumer.read
    args = {
        "reader": consumer.name,
        "offsets": offsets,
        "row": read.row if read else "",
        "at": consumer.at,
    }
    if read is None:
        keys = {CUT: "reader-cuts", MOVED: "reader-moves"}
        key = keys.get(consumer.kind, "reader-whole")
        return DerivationStep(consumer.at, consumer.text, Message(key, args))
    unit = change.unit(read.location.path)
    text = unit.excerpt(read.location.start_line) if unit is not None else ""
    if read.count:
        return DerivationStep(
            read.location, text, Message("reader-keeps", {**args, "count": read.count})
        )
    return DerivationStep(read.location, text, Message("reader-other", args))


def _assignments(function: Function) -> Iterator[tuple[E.Expr, E.Expr | None]]:
    """(target, value) of every assignment of a function."""
    for guarded in guarded_statements(function.body):
        if isinstance(guarded.stmt, Assign):
            yield guarded.stmt.target, guarded.stmt.value


def _fields(
    changed: ChangedFunction, names: set[str], change: ChangeSet, config: Config
) -> set[str]:
    """The attributes in which callers keep the part of the result that comes from `names`."""
    places = _returned_places(changed, names)
    if not places:
        return set()
    found: set[str] = set()
    for path in calling_files(changed.head.name, change, config):
        unit = change.unit(path)
        if unit is None:
            continue
        for function in functions_calling(changed.head.name, unit):
            found |= _fields_in(function, changed.head.name, places)
    return found


def _returned_places(changed: ChangedFunction, names: set[str]) -> set[int]:
    """Which of the results that the function returns come from `names`."""
    holders = set(names)
    for guarded in changed.statements:
        stmt = guarded.stmt
        if not isinstance(stmt, Assign) or not isinstance(stmt.target, E.Name):
            continue
        if E.names(stmt.value or stmt.target) & holders:
            holders.add(stmt.target.id)
    places: set[int] = set()
    for guarded in changed.statements:
        stmt = guarded.stmt
        if not isinstance(stmt, Return) or not isinstance(stmt.value, E.Sequence):
            continue
        for place, item in enumerate(stmt.value.items):
            if E.names(item) & holders:
                places.add(place)
    return places


def _fields_in(function: Function, called: str, places: set[int]) -> set[str]:
    """The attributes that a caller sets to one of the results at `places`."""
    local: set[str] = set()
    for target, value in _assignments(function):
        if not isinstance(value, E.Call) or E.callee(value) != called:
            continue
        if not isinstance(target, E.Sequence):
            continue
        for place, item in enumerate(target.items):
            if place in places and isinstance(item, E.Name):
                local.add(item.id)
    fields: set[str] = set()
    for target, value in _assignments(function):
        if isinstance(target, E.Attr) and isinstance(value, E.Name) and value.id in local:
            fields.add(target.name)
    return fields


def _in_function(
    field: str, function: Function, unit: SourceFile, search: _Search
) -> Iterator[RowConsumer]:
    """What a function that names the field does with the tensor in it."""
    aliases, is_reordered = _aliases(field, function)
    cuts = list(_cuts(field, function, aliases))
    for statement in cuts:
        text = unit.excerpt(statement.line)
        yield RowConsumer(function.name, CUT, Location(unit.path, statement.line), text)
    for call, guards in calls_of(function.body):
        if any(_is_behind(statement, call, guards) for statement in cuts):
            continue
        arguments_given = [*call.args, *(value for _, value in call.keywords)]
        tensors = [a for a in arguments_given if _is_field(a, field, aliases)]
        if not tensors or E.callee(call) in _QUESTIONS:
            continue
        if _is_elsewhere(function, guards, search):
            continue
        place = Location(unit.path, call.line)
        text = unit.excerpt(call.line)
        # Which rows move where is not followed: a person has to look.
        if is_reordered:
            yield RowConsumer(function.name, MOVED, place, text)
            continue
        consumer = _called_consumer(call, tensors, place, text, search)
        if consumer is not None:
            yield consumer


def _aliases(field: str, function: Function) -> tuple[set[str], bool]:
    """The locals that hold the tensor, and whether the function assigns to parts of it."""
    aliases: set[str] = set()
    is_reordered = False
    for target, value in _assignments(function):
        if isinstance(target, E.Name) and value is not None and _is_field(value, field, aliases):
            aliases.add(target.id)
        owner = (E.dotted(target) or "").split(".")[:-1]
        if field in owner:
            is_reordered = True
    return aliases, is_reordered


def _is_behind(statement: _Cut, call: E.Call, guards: tuple[E.Expr, ...]) -> bool:
    """Whether a call gets the rows that were cut: it is later, under no fewer conditions."""
    return call.line >= statement.line and set(statement.guards) <= set(guards)


def _cuts(field: str, function: Function, aliases: set[str]) -> Iterator[_Cut]:
    for guarded in guarded_statements(function.body):
        stmt = guarded.stmt
        if not isinstance(stmt, Assign) or stmt.value is None:
            continue
        if field not in (E.dotted(stmt.target) or "").split(".")[1:]:
            continue
        for e in E.walk(stmt.value):
            whole = sliced_tensor(e)
            if whole is not None and _is_field(whole, field, aliases):
                yield _Cut(stmt.line, guarded.guards)
                break


def _is_field(expr: E.Expr, field: str, aliases: set[str]) -> bool:
    """Whether an expression is the tensor in the field, by its own name or a local one."""
    dotted = E.dotted(expr)
    if dotted is None:
        return False
    owner, *attributes = dotted.split(".")
    return field in attributes or owner in aliases


def _called_consumer(
    call: E.Call, tensors: list[E.Expr], place: Location, text: str, search: _Search
) -> RowConsumer | None:
    """What the function that is called reads, where that is known or can only be every row."""
    name = E.callee(call)
    ops = [op for op in Ops.of(search.change).named(name) if op.function is not None]
    for op in ops:
        if _is_other_path(op.unit.path, (), search):
            continue
        read = _op_read(op, call, tensors, search)
        if read is not None:
            return RowConsumer(name, KEPT if read.count else PAST, place, text, read)
    gets_offsets = any(_is_offsets(argument, search) for argument in call.args)
    if not ops and not gets_offsets:
        return RowConsumer(name, PAST, place, text)
    return None


def _op_read(op: OpInfo, call: E.Call, tensors: list[E.Expr], search: _Search) -> RowRead | None:
    """Which rows of the tensors the C++ function of an op reads."""
    if op.function is None:
        return None
    passed = arguments(call, op.params)
    offsets = [param for param, value in passed.items() if _is_offsets(value, search)]
    given = {op.cpp_name(param) for param, value in passed.items() if value in tensors}
    return first_row_read(op.function, given, op.cpp_name(offsets[0]) if offsets else "")


def _is_offsets(value: E.Expr, search: _Search) -> bool:
    """Whether an argument is the offsets of the valid rows, or the first of them."""
    return key_of(sliced_tensor(value) or value) == search.offsets


def _is_elsewhere(function: Function, guards: tuple[E.Expr, ...], search: _Search) -> bool:
    """Whether the padded tensor cannot come here: other hardware, or no speculation."""
    if _is_other_path(function.path, guards, search):
        return True
    elsewhere: list[bool] = []
    for path in calling_files(function.name, search.change, search.config):
        unit = search.change.unit(path)
        if unit is None:
            continue
        for _, _, call_guards in calls_in_file(function.name, unit):
            elsewhere.append(_is_other_path(path, call_guards, search))
    return bool(elsewhere) and all(elsewhere)


def _is_other_path(path: str, guards: tuple[E.Expr, ...], search: _Search) -> bool:
    """Whether code is for other hardware than the filler, or runs only without speculation."""
    hardware = search.config.hardware_of(path)
    if hardware and search.hardware and hardware not in search.hardware:
        return True
    if not search.speculative:
        return False
    return any(polarity(g) is False and _asks_for_speculation(g) for g in guards)


def _asks_for_speculation(guard: E.Expr) -> bool:
    """Whether a condition is on speculative decoding as a whole, not on one method of it."""
    for e in E.walk(guard):
        name = ""
        if isinstance(e, E.Attr):
            name = e.name
        elif isinstance(e, E.Name):
            name = e.id
        if "specul" in name.lower():
            return True
    return False
