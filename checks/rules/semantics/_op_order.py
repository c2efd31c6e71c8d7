"""Ops that are called before the index is advanced, and count on what the advance adds to it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cached_property

from checks.core.finding import DerivationStep, Location
from checks.domain.indices.buffers import OpSite
from checks.domain.indices.conventions import SideIndex
from checks.domain.indices.op_index import OpFacts
from checks.eval.symbolic.values import BufferAccess
from checks.rules.semantics import _report

# Names the parameters of an op that hold an amount which it takes off an index.
FindAmounts = Callable[[OpFacts], set[str]]


@dataclass(frozen=True, eq=False)
class BoundCall:
    """A call of an op, with the implementation that it reaches on one hardware."""

    facts: OpFacts
    site: OpSite

    @cached_property
    def buffers(self) -> dict[str, str]:
        """Parameter of the op to the buffer that it gets."""
        return self.site.keys(self.facts)

    @cached_property
    def indices(self) -> list[str]:
        """The buffers that the op gets as indices."""
        return sorted(self.site.keys(self.facts, self.facts.indices).values())

    def advances(self, index: str) -> bool:
        """Whether the op moves this index on."""
        return any(self.buffers.get(param) == index for param, _ in self.facts.advances)


@dataclass(frozen=True, eq=False)
class PrematureUse:
    """`user` is called in the same function as `mover`, before it has advanced the index.

    `index` is the buffer; `index_param` and `amount_param` are the names that `user` has for the
    two.
    """

    user: BoundCall
    mover: BoundCall
    index: str
    index_param: str
    amount_param: str

    def is_reduced(self, access: BufferAccess) -> bool:
        """Whether an access of `user` takes the amount off this index."""
        return access.index == self.index_param and (self.amount_param, -1) in access.lag

    def args(self, access: BufferAccess) -> dict[str, str]:
        """What a message about `access` may name."""
        return {
            "op": self.user.facts.name,
            "mover": self.mover.facts.name,
            "function": access.function,
            "caller": self.user.site.function,
            "index": self.index_param,
            "amount": self.amount_param,
            "limit": access.buffer,
        }


def subtracted_amounts(facts: OpFacts) -> set[str]:
    """What an op takes off an index by which it reads, or which it compares."""
    amounts: set[str] = set()
    for access in facts.accesses:
        if access.kind == "write":
            continue
        amounts.update(name for name, count in access.lag if count == -1)
    return amounts


def premature_uses(
    product: SideIndex,
    functions: Collection[tuple[str, str]],
    ops: set[str],
    amounts_of: FindAmounts,
) -> Iterator[PrematureUse]:
    """Every use of an index, before it moves, by an op that takes off it what it has not got yet.

    Looked for in `functions` (path, qualified name), and in all others where one of `ops` takes
    part.
    """
    callers = set(functions)
    for op in ops:
        callers.update((site.path, site.function) for site in product.buffers.of(op))
    for path, function in sorted(callers):
        bound = _bound_calls(product, path, function)
        for hardware, index in _indices_by_hardware(bound):
            calls = [c for c in bound if c.facts.hardware == hardware and index in c.indices]
            concerned = (path, function) in functions or any(c.facts.name in ops for c in calls)
            if concerned:
                yield from _uses_before_move(calls, index, amounts_of)


def _bound_calls(product: SideIndex, path: str, function: str) -> list[BoundCall]:
    """The calls of a Python function that give an index to an op, in order."""
    bound: list[BoundCall] = []
    for site in product.buffers.within(path, {function}):
        for facts in product.library.facts(site.op):
            if facts.indices and site.runs(facts):
                bound.append(BoundCall(facts, site))
    return bound


def _indices_by_hardware(bound: list[BoundCall]) -> list[tuple[str, str]]:
    """(hardware, index) that the calls use, each once."""
    pairs = [(call.facts.hardware, index) for call in bound for index in call.indices]
    return list(dict.fromkeys(pairs))


def _uses_before_move(
    calls: list[BoundCall], index: str, amounts_of: FindAmounts
) -> Iterator[PrematureUse]:
    first_move = _first_move(calls, index, amounts_of)
    for mover in calls:
        if mover.site.line != first_move or not mover.advances(index):
            continue
        # Only what the mover gets too can be the amount by which it advances the index.
        given = set(mover.buffers.values()) - {index}
        for user in calls:
            if user.site.line >= first_move:
                continue
            subtracted = amounts_of(user.facts)
            for param, buffer in user.buffers.items():
                if param in subtracted and buffer in given:
                    yield PrematureUse(user, mover, index, _param_of(user, index), param)


def _param_of(call: BoundCall, buffer: str) -> str:
    """The parameter in which the op gets `buffer`."""
    return next(param for param, given in call.buffers.items() if given == buffer)


def _first_move(calls: list[BoundCall], index: str, amounts_of: FindAmounts) -> int:
    """The line of the first of `calls` that moves the index; 0 where none does.

    `calls` are in order.

    What the last op does matters only if it gets an amount that an op before it takes off the
    index. It is not looked into otherwise: to find what an op does means to run its kernels on
    symbols.
    """
    last_line = calls[-1].site.line
    amounts: set[str] = set()
    for call in calls:
        if call.site.line == last_line and not amounts & set(call.buffers.values()):
            continue
        if call.advances(index):
            return call.site.line
        for param in amounts_of(call.facts):
            if param in call.buffers:
                amounts.add(call.buffers[param])
    return 0


def order_evidence(
    product: SideIndex, use: PrematureUse, access: BufferAccess
) -> tuple[DerivationStep, ...]:
    """The two calls in their order, and the line that advances the index."""
    args = use.args(access)
    user_site, mover_site = use.user.site, use.mover.site
    advance = _advance_line(use)
    return (
        _report.step(
            product.library, Location(user_site.path, user_site.line), "called-before", **args
        ),
        _report.step(
            product.library, Location(mover_site.path, mover_site.line), "called-after", **args
        ),
        _report.step(product.library, advance, "advances", **args),
    )


def _advance_line(use: PrematureUse) -> Location:
    for param, (path, line) in use.mover.facts.advances:
        if use.mover.buffers.get(param) == use.index:
            return Location(path, line)
    raise LookupError(f"{use.mover.facts.name} does not advance {use.index}")
