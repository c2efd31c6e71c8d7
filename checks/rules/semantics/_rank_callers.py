"""Which kind of rank, and which flag, callers hand to an op that not every rank runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.domain.calls.names import nearest_imports
from checks.domain.messages import op_argument, ops_of
from checks.domain.ops import OpInfo, Ops, calls_of
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, guarded_statements
from checks.rules.semantics._rank_conditions import compared_ranks, is_rank

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
class RankCall:
    """A Python call of the op: the rank of which `kind` it passes, and the flag, where known.

    `pinned` says that the call stands under a condition which lets only tensor-parallel rank 0
    through.
    """

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


@dataclass(frozen=True, slots=True)
class _GatedOp:
    """An op with the places of its rank and its flag, counted from the end of its parameters."""

    op: OpInfo
    rank: int
    flag: int | None


def rank_kind(name: str) -> str:
    """`tensor`, `data`, `expert` or `device`, from the name of a rank; empty for other names."""
    last_part = name.rsplit(".", 1)[-1]
    for kind, pattern in _KINDS:
        if pattern.search(last_part):
            return kind
    return ""


def rank_calls(
    function: Function, unit: SourceFile, rank: str, flag: str, change: ChangeSet, config: Config
) -> Iterator[RankCall]:
    """Every call outside tests of the ops that come to the C++ `function`.

    `rank` and `flag` are names of its parameters.
    """
    ops = Ops.of(change)
    for name in ops_of(function, unit):
        for op in ops.named(name):
            if op.unit.path != unit.path or op.function is None:
                continue
            rank_place = _place_from_end(rank, function, op)
            if rank_place is None:
                continue
            flag_place = _place_from_end(flag, function, op)
            yield from _calls_of_op(_GatedOp(op, rank_place, flag_place), change, config)


def _place_from_end(param: str, function: Function, op: OpInfo) -> int | None:
    """Where the op takes `param`, counted from the end of its list."""
    if not param or op.function is None:
        return None
    own_name = op_argument(param, function, op.function)
    names = [p.name for p in op.function.params]
    if own_name is None or own_name not in names or len(names) != len(op.params):
        return None
    return len(names) - names.index(own_name)


def _calls_of_op(gated: _GatedOp, change: ChangeSet, config: Config) -> Iterator[RankCall]:
    for path in sorted(change.head.paths_containing(gated.op.name, "python")):
        unit = change.unit(path) if not config.is_test(path) else None
        if unit is None:
            continue
        for function in unit.functions:
            yield from _calls_in(function, unit, gated, config)


def _calls_in(
    function: Function, unit: SourceFile, gated: _GatedOp, config: Config
) -> Iterator[RankCall]:
    op = gated.op
    if op.name not in unit.text_of(function):
        return
    for call, guards in calls_of(function.body):
        if E.callee(call) != op.name or _is_other_hardware(call, function, unit, op, config):
            continue
        rank_call = _rank_call(call, guards, function, unit, gated)
        if rank_call is not None:
            yield rank_call


def _is_other_hardware(
    call: E.Call, function: Function, unit: SourceFile, op: OpInfo, config: Config
) -> bool:
    """Whether the name is certainly another hardware's op: by the file, or by its import."""
    op_hardware = config.hardware_of(op.unit.path)
    caller_hardware = config.hardware_of(unit.path)
    if not op_hardware:
        return False
    if caller_hardware and op_hardware != caller_hardware:
        return True
    known = {kind.name for kind in config.hardware}
    imports = nearest_imports(op.name, call.line, function, unit)
    imported_from = {i.module.rsplit(".", 1)[-1] for i in imports} & known
    return bool(imported_from) and op_hardware not in imported_from


def _rank_call(
    call: E.Call,
    guards: tuple[E.Expr, ...],
    function: Function,
    unit: SourceFile,
    gated: _GatedOp,
) -> RankCall | None:
    """A call that passes a rank in the rank's place.

    An op of the same name on other hardware may have something else there.
    """
    if E.starred(call):
        return None
    rank = _argument(call, gated.op, gated.rank)
    if rank is None or not is_rank(rank):
        return None
    flag = _argument(call, gated.op, gated.flag) if gated.flag else None
    # A local such as `rank_id` has its kind from what it was set to.
    kind = rank_kind(E.dotted(_origin(rank, function)) or "")
    return RankCall(function, unit, call, rank, kind, flag, _is_pinned(guards))


def _is_pinned(guards: tuple[E.Expr, ...]) -> bool:
    """Whether the conditions ask a tensor-parallel rank."""
    names = [name for guard in guards for name in compared_ranks(guard)]
    return any(rank_kind(name) == TENSOR for name in names)


def _argument(call: E.Call, op: OpInfo, place: int) -> E.Expr | None:
    """What a call passes for the parameter at `place` from the end."""
    by_keyword = dict(call.keywords).get(op.params[-place])
    if by_keyword is not None:
        return by_keyword
    if call.keywords or len(call.args) < place:
        return None
    return call.args[-place]


def _origin(rank: E.Expr, function: Function) -> E.Expr:
    """What a local name was set to, where that happened once."""
    if not isinstance(rank, E.Name) or rank_kind(rank.id):
        return rank
    values: list[E.Expr | None] = []
    for guarded in guarded_statements(function.body):
        if isinstance(guarded.stmt, Assign) and guarded.stmt.target == rank:
            values.append(guarded.stmt.value)
    if len(values) == 1 and values[0] is not None:
        return values[0]
    return rank
