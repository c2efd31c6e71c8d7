"""Messages between processes: which C++ functions send or receive which struct, and who is at the
other end.

An end of a message is a function that hands the address of a struct variable to a send or receive
primitive (`msgsnd`, `msgrcv`, or a call whose name says so). It is tied to the definition of the
struct that its own file sees.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Side
from checks.core.words import as_bytes, word_regex
from checks.domain.cpp_places import Move, moves
from checks.domain.message_roles import END_WORDS, may_hand_over_address, role_of, snake
from checks.domain.ops import calls_of
from checks.domain.struct_layouts import StructLayouts
from checks.eval.constants.lookup import Constants
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile, Struct
from checks.lang.ir.stmt import Assign, guarded_statements

# `snake` is asked for here by rules of other families.
__all__ = ["MessageEnd", "Messages", "op_argument", "ops_of", "snake"]

# Wrappers of wrappers are followed this deep.
_DEPTH = 4
_WORD = re.compile(rb"\w+")
_ADDRESSED = re.compile(rb"&\s*([A-Za-z_]\w*)")


@dataclass(frozen=True, slots=True)
class MessageEnd:
    """One end of a message: `function` sends or receives `variable`, which is a `struct`.

    `role` is `send` or `receive`, `line` is that of the call, and `ops` are those that come to the
    function.
    """

    function: Function
    unit: SourceFile
    struct: Struct
    variable: str
    role: str
    line: int
    ops: tuple[str, ...] = ()

    @property
    def stem(self) -> tuple[str, ...]:
        """What the op's name says of the message once the end is taken out of it."""
        name = self.ops[0] if self.ops else snake(self.function.name)
        return tuple(word for word in name.split("_") if word not in END_WORDS)


@dataclass
class Messages:
    """The message ends of one side of a change, found when asked for."""

    change: ChangeSet
    config: Config
    side: Side = Side.HEAD
    _ends: dict[str, tuple[MessageEnd, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, change: ChangeSet, config: Config, side: Side = Side.HEAD) -> Messages:
        """The one table of this change."""
        return change.memo((cls, side), lambda: cls(change, config, side))

    def __post_init__(self) -> None:
        self.constants = Constants.of(self.change, self.side)
        self.structs = StructLayouts(self.change, self.side)

    # Ends

    def ends_in(self, unit: SourceFile) -> tuple[MessageEnd, ...]:
        """The ends in one C++ file."""
        if unit.language != "cpp":
            return ()
        if unit.path not in self._ends:
            self._ends[unit.path] = tuple(self._ends_in(unit))
        return self._ends[unit.path]

    def _ends_in(self, unit: SourceFile) -> Iterator[MessageEnd]:
        for function in unit.functions:
            text = unit.text_of(function)
            if may_hand_over_address(text):
                yield from self._ends_of_function(function, unit)

    def _ends_of_function(self, function: Function, unit: SourceFile) -> Iterator[MessageEnd]:
        types = _types_of_variables(function, unit)
        seen: set[tuple[str, str]] = set()
        for call, _ in calls_of(function.body):
            role = role_of(E.callee(call))
            if not role:
                continue
            for name in _addressed_variables(call):
                struct = self.structs.find(types.get(name, ""), unit)
                if struct is None or (name, role) in seen:
                    continue
                seen.add((name, role))
                ops = ops_of(function, unit)
                yield MessageEnd(function, unit, struct, name, role, call.line, ops)

    def ends_of_struct(self, struct: str, hardware: str | None = None) -> Iterator[MessageEnd]:
        """Every end in the tree (of `hardware`) whose struct has this name, whatever its
        definition."""
        tree = self.change.tree(self.side)
        for path in tree.paths_containing(struct, "cpp"):
            if hardware is not None and self.config.hardware_of(path) != hardware:
                continue
            if not _addresses_variable_of(struct, tree.read(path) or b""):
                continue
            if not self.may_hold_ends(path):
                continue
            unit = self.change.unit(path, self.side)
            if unit is None:
                continue
            for end in self.ends_in(unit):
                if end.struct.name == struct:
                    yield end

    def may_hold_ends(self, path: str) -> bool:
        """Whether the file may have an end in it, told without parsing it."""
        data = self.change.tree(self.side).read(path) or b""
        return may_hand_over_address(data.decode("utf-8", "replace"))

    def peers(self, end: MessageEnd) -> tuple[MessageEnd, ...]:
        """The other ends of the same message on the same hardware, in path order."""
        hardware = self.config.hardware_of(end.unit.path)
        peers = []
        for other in self.ends_of_struct(end.struct.name, hardware):
            if other is not end and self.same(end, other):
                peers.append(other)
        return tuple(peers)

    def same(self, first: MessageEnd, second: MessageEnd) -> bool:
        """Whether both are ends of one message: they share its definition, or have copies of it.

        Copies are told by the ops' names, which agree but for the end, or by their members where
        those are too many to agree by chance (`long mtype; int mtext[]` is nothing special).
        """
        hardware_of = self.config.hardware_of
        if hardware_of(first.unit.path) != hardware_of(second.unit.path):
            return False
        one, other = first.struct, second.struct
        if (one.path, one.start_line) == (other.path, other.start_line):
            return True
        if first.stem == second.stem:
            return True
        return len(one.members) > 2 and _names_and_types(one) == _names_and_types(other)

    # What an end does

    def moves(self, end: MessageEnd) -> list[Move]:
        """Every store of the end's function."""
        return end.function.body.memo(moves, lambda: list(moves(end.function)))

    def forwards(self, end: MessageEnd) -> tuple[Move, ...]:
        """Of a receiver: the stores that hand a member of the message on into a parameter.

        `target` is the parameter's element and `source` the message's.
        """
        params = {param.name for param in end.function.params}
        forwards = []
        for move in self.moves(end):
            is_from_message = move.source is not None and move.source.root == end.variable
            if is_from_message and move.target.root in params and not move.target.path:
                forwards.append(move)
        return tuple(forwards)

    def writes(self, end: MessageEnd) -> tuple[Move, ...]:
        """Of a sender: the stores into the message, `target` being the member."""
        return tuple(move for move in self.moves(end) if move.target.root == end.variable)


def _addresses_variable_of(struct: str, data: bytes) -> bool:
    """Whether a file takes the address of something that it declares with the type `struct`."""
    declaration = re.compile(as_bytes(rf"{word_regex(struct)}[\s*&/]+([A-Za-z_][^;]*)"))
    variables: set[bytes] = set()
    for declared in declaration.findall(data):
        variables.update(_WORD.findall(declared))
    return not variables.isdisjoint(_ADDRESSED.findall(data))


def _names_and_types(struct: Struct) -> list[tuple[str, str]]:
    """What a struct is, without its sizes."""
    return [(member.name, member.type) for member in struct.members]


def _types_of_variables(function: Function, unit: SourceFile) -> dict[str, str]:
    """The type of each variable that `function` may name: its locals, and the members of its
    class."""
    types: dict[str, str] = {}
    for struct in unit.structs:
        if struct.start_line <= function.start_line and function.end_line <= struct.end_line:
            types.update((member.name, member.type) for member in struct.members)
    for guarded in guarded_statements(function.body):
        stmt = guarded.stmt
        if not isinstance(stmt, Assign) or stmt.declares is None:
            continue
        if isinstance(stmt.target, E.Name):
            types[stmt.target.id] = stmt.declares
    return types


def _addressed_variables(call: E.Call) -> Iterator[str]:
    """The variables whose address a call gets, the function's own arguments only."""
    for argument in call.args:
        inner = argument.operand if isinstance(argument, E.Cast) else argument
        match inner:
            case E.Unary(op="&", operand=E.Name(id=name)):
                yield name


def ops_of(function: Function, unit: SourceFile) -> tuple[str, ...]:
    """The ops of this file that come to `function`, through wrappers in the same file."""
    reached = {function.name}
    for _ in range(_DEPTH):
        callers = _callers_of(reached, unit)
        if not callers:
            break
        reached |= callers
    ops = [(op.name, op.kernel) for op in unit.ops]
    ops += [(binding.name, binding.function) for binding in unit.bindings]
    names: dict[str, None] = {}
    for name, kernel in ops:
        if kernel.rsplit("::", 1)[-1] in reached:
            names[name] = None
    return tuple(names)


def _callers_of(names: set[str], unit: SourceFile) -> set[str]:
    """The functions of a C++ file, but for `names`, in whose body one of `names` is called."""
    calls = [re.compile(rf"{word_regex(name)}\s*\(") for name in names]
    callers: set[str] = set()
    for function in unit.functions:
        if function.name in names:
            continue
        body = unit.text(function.start_line + 1, function.end_line)
        if any(call.search(body) for call in calls):
            callers.add(function.name)
    return callers


def op_argument(param: str, function: Function, kernel: Function) -> str | None:
    """What the op's own function `kernel` calls the parameter `param` of `function`, which it calls
    or is."""
    if kernel.name == function.name:
        return param
    names = [p.name for p in function.params]
    if param not in names:
        return None
    position = names.index(param)
    for call, _ in calls_of(kernel.body):
        if E.callee(call) == function.name and position < len(call.args):
            passed = E.root(call.args[position])
            is_param = passed in [p.name for p in kernel.params]
            return passed if is_param else None
    return None
