"""Messages between processes: which C++ functions send or receive which struct, and who is at the other end.

An end of a message is a function that hands the address of a struct variable to a send or receive primitive
(`msgsnd`, `msgrcv`, or a call whose name says so). Several structs of one repository may share a name, so an end is
tied to the definition that its own file sees.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Side
from checks.core.tree import contains_word, word_regex
from checks.domain.cpp_places import Move, moves
from checks.domain.ops import calls_of
from checks.eval.constants.files import files
from checks.eval.constants.lookup import Constants
from checks.eval.integers import integer_type
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile, Struct
from checks.lang.ir.stmt import Assign, guarded_statements

SEND = "send"
RECEIVE = "receive"
_PRIMITIVES = {"msgsnd": SEND, "msgrcv": RECEIVE, "mq_send": SEND, "mq_receive": RECEIVE}
_SENDS = frozenset({"send", "snd", "put", "push", "publish", "enqueue"})
_RECEIVES = frozenset({"recv", "rcv", "receive", "get", "pull", "pop", "dequeue"})
# Parts of an op's name that tell the end, not the message: `x_save_y_topk` and `x_get_y_topk` are two ends of one.
_ENDS = (
    _SENDS | _RECEIVES
    | {"save", "read", "write", "encode", "decode", "pack", "unpack", "with", "static", "dynamic", "out", "msg", "mmsg"}
)  # fmt: skip
_DEPTH = 4
_NUMBERS = frozenset({"", "float", "double", "void"})


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One end of a message: `function` sends or receives `variable`, which is a `struct`; `line` is the call."""

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
        names = self.ops or (snake(self.function.name),)
        return tuple(w for w in names[0].split("_") if w not in _ENDS)


@dataclass(frozen=True, slots=True)
class StructField:
    """A struct member with its dims folded to numbers (None where that is not certain)."""

    name: str
    type: str
    dims: tuple[int | None, ...]
    line: int


@dataclass
class Messages:
    """The message ends of one side of a change, found when asked for."""

    change: ChangeSet
    config: Config
    side: Side = Side.HEAD
    _ends: dict[str, tuple[Endpoint, ...]] = field(default_factory=dict)
    _sieved: dict[str, bool] = field(default_factory=dict)
    _structs: dict[tuple[str, str], Struct | None] = field(default_factory=dict)
    _moves: dict[tuple[str, str, int], tuple[Move, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, change: ChangeSet, config: Config, side: Side = Side.HEAD) -> Messages:
        """The one table of this change."""
        return change.memo((cls, side), lambda: cls(change, config, side))

    def __post_init__(self) -> None:
        self.constants = Constants.of(self.change, self.side)
        self._files = files(self.change, self.side)

    def of_unit(self, unit: SourceFile) -> tuple[Endpoint, ...]:
        """The ends in one C++ file."""
        if unit.path not in self._ends:
            self._ends[unit.path] = tuple(self._search(unit)) if unit.language == "cpp" else ()
        return self._ends[unit.path]

    def _search(self, unit: SourceFile) -> Iterator[Endpoint]:
        for function in unit.functions:
            text = unit.text(function.start_line, function.end_line)
            if not speaks(text):
                continue
            types = _declared(function, unit)
            seen: set[tuple[str, str]] = set()
            for call, _ in calls_of(function.body):
                role = role_of(E.callee(call))
                for name in _addresses(call) if role else ():
                    struct = self.struct(types.get(name, ""), unit)
                    if struct is not None and (name, role) not in seen:
                        seen.add((name, role))
                        yield Endpoint(
                            function, unit, struct, name, role, call.line, ops_of(function, unit)
                        )

    def struct(self, name: str, unit: SourceFile) -> Struct | None:
        """The struct `name` as `unit` sees it: defined there, or in what it includes."""
        plain = name.removeprefix("struct ").rstrip("*& ")
        key = (plain, unit.path)
        if key not in self._structs:
            near = (
                self._naming(plain, unit)
                if plain not in _NUMBERS and not integer_type(plain)
                else ()
            )
            self._structs[key] = next(
                (s for u in near for s in u.structs if s.name == plain and s.members), None
            )
        return self._structs[key]

    def _naming(self, struct: str, unit: SourceFile) -> Iterator[SourceFile]:
        """`unit` and the files of the repository that it includes, nearest first: those in which the name stands."""
        tree, words = self.change.tree(self.side), _WORD.findall(struct.encode())
        level, seen = [unit.path], {unit.path}
        for _ in range(_DEPTH):
            naming = (p for p in level if all(contains_word(tree.read(p) or b"", w) for w in words))
            yield from filter(None, (self.change.unit(p, self.side) for p in naming))
            below = dict.fromkeys(path for near in level for path in self._included(near))
            level = [path for path in below if path not in seen]
            seen.update(level)

    def _included(self, path: str) -> Iterator[str]:
        unit = self.change.unit(path, self.side)
        for include in unit.imports if unit is not None else ():
            found = self._files.include(path, include.module)
            if len(found) == 1:
                yield found[0]

    def layout(self, struct: Struct, unit: SourceFile) -> tuple[StructField, ...]:
        """The members of `struct` with the dims that `unit`, which uses it, gives them; inner structs flattened
        as `outer.inner`, their dims behind the outer ones."""
        return tuple(self._fields(struct, unit, "", (), 0))

    def _fields(
        self,
        struct: Struct,
        unit: SourceFile,
        prefix: str,
        outer: tuple[int | None, ...],
        depth: int,
    ) -> Iterator[StructField]:
        home = self.change.unit(struct.path, self.side) or unit
        for member in struct.members:
            dims = (*outer, *(self.number(d, home) for d in member.dims))
            inner = self.struct(member.type, home) if depth < _DEPTH else None
            if inner is not None:
                yield from self._fields(inner, unit, f"{prefix}{member.name}.", dims, depth + 1)
            else:
                yield StructField(f"{prefix}{member.name}", member.type, dims, member.line)

    def number(
        self, expr: E.Expr, unit: SourceFile, function: Function | None = None
    ) -> int | None:
        """The whole number that `expr` certainly is."""
        value = self.constants.resolve(expr, unit, function)
        return value.value if value is not None and isinstance(value.value, int) else None

    def peers(self, end: Endpoint) -> tuple[Endpoint, ...]:
        """The other ends of the same message on the same hardware, senders and receivers, in path order."""
        hardware = self.config.hardware_of(end.unit.path)
        return tuple(
            e
            for e in self.speaking(end.struct.name, hardware)
            if e is not end and self.same(end, e)
        )

    def speaking(self, struct: str, hardware: str | None = None) -> Iterator[Endpoint]:
        """Every end in the tree (of `hardware`) whose struct has this name, whatever its definition."""
        tree = self.change.tree(self.side)
        declaration = re.compile(rf"{word_regex(struct)}[\s*&/]+([A-Za-z_][^;]*)".encode())
        for path in tree.paths_containing(struct, "cpp"):
            if hardware is not None and self.config.hardware_of(path) != hardware:
                continue
            data = tree.read(path) or b""
            variables = {word for each in declaration.findall(data) for word in _WORD.findall(each)}
            if variables.isdisjoint(_ADDRESSED.findall(data)) or not self.may_speak(path):
                continue
            unit = self.change.unit(path, self.side)
            yield from (
                e
                for e in (self.of_unit(unit) if unit is not None else ())
                if e.struct.name == struct
            )

    def may_speak(self, path: str) -> bool:
        """Whether the file is worth parsing for ends."""
        if path not in self._sieved:
            data = self.change.tree(self.side).read(path) or b""
            self._sieved[path] = speaks(data.decode("utf-8", "replace"))
        return self._sieved[path]

    def same(self, one: Endpoint, other: Endpoint) -> bool:
        """Whether both are ends of one message: they share its definition, or have copies of it.

        Copies are told by the ops' names, which agree but for the end, or by their members where those are too many
        to agree by chance (`long mtype; int mtext[]` is nothing special).
        """
        if self.config.hardware_of(one.unit.path) != self.config.hardware_of(other.unit.path):
            return False
        if (one.struct.path, one.struct.start_line) == (other.struct.path, other.struct.start_line):
            return True
        if one.stem == other.stem:
            return True
        return len(one.struct.members) > 2 and shape(one.struct) == shape(other.struct)

    def forwards(self, end: Endpoint) -> tuple[Move, ...]:
        """Of a receiver: the stores that hand a member of the message on into a parameter, `target` being the
        parameter's element and `source` the message's."""
        params = {p.name for p in end.function.params}
        return tuple(
            m for m in self.moves(end)
            if m.target.root in params and not m.target.path and m.source is not None and m.source.root == end.variable
        )  # fmt: skip

    def writes(self, end: Endpoint) -> tuple[Move, ...]:
        """Of a sender: the stores into the message, `target` being the member and `value` what is put there."""
        return tuple(m for m in self.moves(end) if m.target.root == end.variable)

    def moves(self, end: Endpoint) -> tuple[Move, ...]:
        """Every store of the end's function."""
        key = (end.unit.path, end.function.qualname, end.function.start_line)
        if key not in self._moves:
            self._moves[key] = tuple(moves(end.function))
        return self._moves[key]


# A call that is given an address; what stands before it in the arguments may be long, but is one statement. From the
# word that tells its role on: to try each call of a file takes four times as long.
_ROLE = "|".join(
    form for word in sorted(_SENDS | _RECEIVES) for form in (word, word.title(), word.upper())
)
_GIVEN = re.compile(rf"(?:{_ROLE})\w*\s*\((?=[^;{{}}]{{0,300}}?&\s*[A-Za-z_])")
_NAME = re.compile(r"\w*")
_WORD = re.compile(rb"\w+")
_ADDRESSED = re.compile(rb"&\s*([A-Za-z_]\w*)")
_ADDRESS = re.compile(r"[(,]\s*&\s*[A-Za-z_]")
_RUNTIME = re.compile(r"(cuda|hip|nccl|xpu|cublas|cu)(?=[A-Z_])|std")


def speaks(text: str) -> bool:
    """Whether C++ source may hand the address of something to a send or receive primitive; a sieve before parsing."""
    return _ADDRESS.search(text) is not None and any(
        role_of(_called(m)) for m in _GIVEN.finditer(text)
    )


def _called(given: re.Match[str]) -> str:
    """The whole name of what is called, of which `given` may begin in the middle."""
    text, start = given.string, given.start()
    while start and (text[start - 1].isalnum() or text[start - 1] == "_"):
        start -= 1
    name = _NAME.match(text, start)
    assert name is not None
    return name.group()


@lru_cache(4096)
def role_of(name: str) -> str:
    """`send`, `receive` or nothing, told from the name of what is called."""
    if name in _PRIMITIVES:
        return _PRIMITIVES[name]
    if _RUNTIME.match(name):
        return ""
    words = set(snake(name).split("_"))
    if words & _SENDS:
        return SEND
    return RECEIVE if words & _RECEIVES else ""


def snake(name: str) -> str:
    """`SaveOutMsgTopK` as `save_out_msg_top_k`."""
    plain = name.rsplit("::", 1)[-1]
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", plain).lower()


def shape(struct: Struct) -> tuple[tuple[str, str], ...]:
    """What a struct is, without its sizes: its members' names and types."""
    return tuple((m.name, m.type) for m in struct.members)


def _declared(function: Function, unit: SourceFile) -> dict[str, str]:
    """The type of each variable that `function` may name: its locals, and the members of its class."""
    inside = [
        s
        for s in unit.structs
        if s.start_line <= function.start_line and function.end_line <= s.end_line
    ]
    types = {m.name: m.type for s in inside for m in s.members}
    for guarded in guarded_statements(function.body):
        stmt = guarded.stmt
        if (
            isinstance(stmt, Assign)
            and stmt.declares is not None
            and isinstance(stmt.target, E.Name)
        ):
            types[stmt.target.id] = stmt.declares
    return types


def _addresses(call: E.Call) -> Iterator[str]:
    """The variables whose address a call gets, the function's own arguments only."""
    for arg in call.args:
        inner = arg.operand if isinstance(arg, E.Cast) else arg
        if isinstance(inner, E.Unary) and inner.op == "&" and isinstance(inner.operand, E.Name):
            yield inner.operand.id


def ops_of(function: Function, unit: SourceFile) -> tuple[str, ...]:
    """The ops of this file that come to `function`, through wrappers in the same file."""
    reached = {function.name}
    for _ in range(_DEPTH):
        callers = {
            f.name for f in unit.functions if f.name not in reached
            and any(re.search(rf"{word_regex(n)}\s*\(", unit.text(f.start_line + 1, f.end_line)) for n in reached)
        }  # fmt: skip
        if not callers:
            break
        reached |= callers
    kernels = [(o.name, o.kernel) for o in unit.ops] + [(b.name, b.function) for b in unit.bindings]
    return tuple(
        dict.fromkeys(name for name, kernel in kernels if kernel.rsplit("::", 1)[-1] in reached)
    )


def op_argument(param: str, function: Function, kernel: Function) -> str | None:
    """What the op's own function `kernel` calls the parameter `param` of `function`, which it calls or is."""
    if kernel.name == function.name:
        return param
    names = [p.name for p in function.params]
    for call, _ in calls_of(kernel.body):
        if (
            E.callee(call) == function.name
            and param in names
            and names.index(param) < len(call.args)
        ):
            passed = E.root(call.args[names.index(param)])
            return passed if passed in [p.name for p in kernel.params] else None
    return None
