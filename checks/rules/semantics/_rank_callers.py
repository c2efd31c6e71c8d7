"""Which kind of rank, and which flag, callers hand to an op that sends or receives for some ranks only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.domain.call_targets import nearest_imports
from checks.domain.messages import op_argument, ops_of
from checks.domain.ops import OpInfo, Ops, calls_of
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, guarded_statements
from checks.lang.source import language
from checks.rules.semantics._rank_conditions import is_rank, ranks

TENSOR = "tensor"
_KINDS = (
    (
        TENSOR,
        re.compile(r"^(mp|tp|tensor_parallel|tensor_model_parallel|model_parallel)_rank(_id)?$"),
    ),
    ("data", re.compile(r"^(local_)?(dp|data_parallel)_(rank|id)(_id)?$")),
    ("expert", re.compile(r"^(ep|expert_parallel)_(rank|id)$")),
    ("device", re.compile(r"^(local|global|world|device)_rank$")),
)


@dataclass(frozen=True, slots=True)
class Site:
    """A Python call of the op: the rank it passes, of which `kind`, and the flag (None where it is not known).
    `pinned` says that the call stands under a condition which lets only tensor-parallel rank 0 through."""

    function: Function
    unit: SourceFile
    call: E.Call
    rank: E.Expr
    kind: str
    flag: E.Expr | None
    pinned: bool

    @property
    def line(self) -> int:
        return self.rank.line or self.call.line


def kind_of(expr: E.Expr) -> str:
    """`tensor`, `data`, `expert` or `device`, told from the name of a rank; empty where the name does not tell."""
    tail = (E.dotted(expr) or "").rsplit(".", 1)[-1]
    return next((kind for kind, pattern in _KINDS if pattern.search(tail)), "")


def sites(
    function: Function, unit: SourceFile, rank: str, flag: str, change: ChangeSet, config: Config
) -> Iterator[Site]:
    """Every call outside tests of the ops that come to the C++ `function`, whose parameters `rank` and `flag` are."""
    ops = Ops.of(change)
    for name in ops_of(function, unit):
        for op in ops.named(name):
            if op.unit.path != unit.path or op.function is None:
                continue
            places = [_position(p, function, op) for p in (rank, flag)]
            if places[0] is not None:
                yield from _calls(op, places[0], places[1], change, config)


def _position(param: str, function: Function, op: OpInfo) -> int | None:
    """Where the op takes `param`, counted from the end of its list."""
    assert op.function is not None
    own = op_argument(param, function, op.function) if param else None
    names = [p.name for p in op.function.params]
    return len(names) - names.index(own) if own in names and len(names) == len(op.params) else None


def _calls(
    op: OpInfo, rank: int, flag: int | None, change: ChangeSet, config: Config
) -> Iterator[Site]:
    hits = change.head.find(op.name)
    for path in sorted(
        {h.path for h in hits if language(h.path) == "python" and not config.is_test(h.path)}
    ):
        unit = change.unit(path)
        for function in unit.functions if unit is not None else ():
            if unit is None or op.name not in unit.text(function.start_line, function.end_line):
                continue
            for call, guards in calls_of(function.body):
                if E.callee(call) != op.name or _elsewhere(call, function, unit, op, config):
                    continue
                site = _site(call, guards, function, unit, op, rank, flag)
                if site is not None:
                    yield site


def _elsewhere(
    call: E.Call, function: Function, unit: SourceFile, op: OpInfo, config: Config
) -> bool:
    """Whether the name is certainly another hardware's op at this call: the file's own, or by where it comes from."""
    own, here = config.hardware_of(op.unit.path), config.hardware_of(unit.path)
    if own and here and own != here:
        return True
    known = {h.name for h in config.hardware}
    sources = {
        i.module.rsplit(".", 1)[-1] for i in nearest_imports(op.name, call.line, function, unit)
    } & known
    return bool(own and sources) and own not in sources


def _site(
    call: E.Call,
    guards: tuple[E.Expr, ...],
    function: Function,
    unit: SourceFile,
    op: OpInfo,
    rank: int,
    flag: int | None,
) -> Site | None:
    """A call whose argument in the rank's place is a rank. A call of another hardware's op has something else there."""
    if E.starred(call):
        return None
    words = dict(call.keywords)
    passed = words.get(op.params[-rank]) or _from_end(call, rank)
    if passed is None or not is_rank(passed):
        return None
    given = (words.get(op.params[-flag]) or _from_end(call, flag)) if flag else None
    pinned = any(kind_of(E.Name(n.rsplit(".", 1)[-1])) == TENSOR for g in guards for n in ranks(g))
    return Site(function, unit, call, passed, kind_of(_origin(passed, function)), given, pinned)


def _origin(rank: E.Expr, function: Function) -> E.Expr:
    """What a local name was set to, where that happened once."""
    if not isinstance(rank, E.Name) or kind_of(rank):
        return rank
    values = [
        g.stmt.value
        for g in guarded_statements(function.body)
        if isinstance(g.stmt, Assign) and g.stmt.target == rank
    ]
    return values[0] if len(values) == 1 and values[0] is not None else rank


def _from_end(call: E.Call, place: int) -> E.Expr | None:
    return call.args[-place] if not call.keywords and len(call.args) >= place else None
