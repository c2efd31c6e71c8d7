"""Before or after the index moves: ops that count on a round's tokens being in the index while they are not, or the
other way round, by the order of the calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from checks.core.finding import Confidence, Finding, Location, Message, Severity
from checks.domain.indices.buffers import Site
from checks.domain.indices.conventions import Product
from checks.domain.indices.op_index import OpFacts
from checks.eval.symbolic.values import Access
from checks.rules.semantics import _report
from checks.rules.semantics._bound_conventions import Sides


@dataclass(frozen=True, eq=False)
class Early:
    """`user` is called in the same function as `mover`, before it; `mover` advances the index by `amount`.

    `index` and `amount` are buffers; `params` are the names that `user` has for the two.
    """

    user: tuple[OpFacts, Site]
    mover: tuple[OpFacts, Site]
    index: str
    amount: str
    params: tuple[str, str]


@dataclass(frozen=True, eq=False)
class _Bound:
    """An implementation and a call that reaches it."""

    facts: OpFacts
    site: Site

    @cached_property
    def keys(self) -> dict[str, str]:
        return self.site.keys(self.facts)

    @cached_property
    def indices(self) -> list[str]:
        """The buffers that it gets as indices."""
        return sorted(self.site.keys(self.facts, self.facts.indices).values())

    def moves(self, index: str) -> bool:
        return any(self.keys.get(p) == index for p, _ in self.facts.advances)


Taken = Callable[[OpFacts], set[str]]


def early(
    product: Product, functions: set[tuple[str, str]], ops: set[str], taken: Taken
) -> Iterator[Early]:
    """Every use of an index before it moves, by an op that takes off it what it has not got yet: `taken` names such
    parameters. In `functions` (path, qualified name), and in all others where one of `ops` takes part."""
    calling = {(s.path, s.function) for op in ops for s in product.buffers.of(op)}
    for path, function in sorted(functions | calling):
        sites = product.buffers.within(path, {function})
        bound = [
            _Bound(f, s)
            for s in sites
            for f in product.library.facts(s.op)
            if f.indices and s.runs(f)
        ]
        for hardware, index in dict.fromkeys(
            (b.facts.hardware, i) for b in bound for i in b.indices
        ):
            calls = [b for b in bound if b.facts.hardware == hardware and index in b.indices]
            if (path, function) in functions or any(b.facts.name in ops for b in calls):
                yield from _early(calls, index, taken)


def _early(calls: list[_Bound], index: str, taken: Taken) -> Iterator[Early]:
    first = _first_move(calls, index, taken)
    for mover in calls:
        if mover.site.line != first or not mover.moves(index):
            continue
        given = set(mover.keys.values()) - {index}
        for user in calls:
            if user.site.line < first and (params := taken(user.facts)):
                mine = next(p for p, k in user.keys.items() if k == index)
                for param, amount in user.keys.items():
                    if param in params and amount in given:
                        ends = (user.facts, user.site), (mover.facts, mover.site)
                        yield Early(*ends, index, amount, (mine, param))


def _first_move(calls: list[_Bound], index: str, taken: Taken) -> int:
    """The line of the first of `calls`, which are in order, that moves the index, 0 where none does. What an op does is
    not asked of the last of them, unless it gets what one before it takes off the index."""
    amounts: set[str] = set()
    for call in calls:
        if call.site.line == calls[-1].site.line and not (
            amounts and amounts & {*call.keys.values()}
        ):
            continue
        if call.moves(index):
            return call.site.line
        amounts |= {call.keys[p] for p in taken(call.facts) if p in call.keys}
    return 0


def _taken(facts: OpFacts) -> set[str]:
    """What the op takes off an index by which it reads, or which it compares."""
    return {
        name for a in facts.accesses if a.kind != "write" for name, count in a.lag if count == -1
    }


def _lagging(item: Early) -> list[Access]:
    """Uses in which the op takes the round's tokens off the index again."""
    index, amount = item.params
    return [
        a
        for a in item.user[0].accesses
        if a.index == index and (amount, -1) in a.lag and a.kind != "write"
    ]


def too_early(sides: Sides, ops: set[str], functions: set[tuple[str, str]]) -> Iterator[Finding]:
    """Ops that subtract a round's tokens from an index to which they are not added yet, new with this change."""
    told: set[tuple[str, str, str, str]] = set()
    for item in early(sides.head, functions, ops, _taken):
        facts = item.user[0]
        for access in sorted(_lagging(item), key=lambda a: (a.path, a.line)):
            key = (facts.name, facts.hardware, access.function, access.path)
            if key not in told and not _was_early(sides.base, item, access):
                yield _too_early(sides.head, item, access)
            told.add(key)


def _was_early(base: Product, item: Early, access: Access) -> bool:
    """Whether the op was called too early before the change too, from any function: one may have been renamed."""
    facts = item.user[0]
    return any(
        other.user[0].name == facts.name
        and other.user[0].hardware == facts.hardware
        and old.function == access.function
        for other in early(base, set(), {facts.name}, _taken)
        for old in _lagging(other)
    )


def _too_early(product: Product, item: Early, access: Access) -> Finding:
    (_, site), (mover, later) = item.user, item.mover
    args = _args(item, access)
    advanced = next(v for k, v in mover.advances if later.keys(mover).get(k) == item.index)
    library = product.library
    evidence = (
        _report.step(library, Location(site.path, site.line), "called-before", **args),
        _report.step(library, Location(later.path, later.line), "called-after", **args),
        _report.step(library, Location(*advanced), "advances", **args),
    )
    message = Message("too-early", args)
    place = Location(access.path, access.line)
    severity, confidence = Severity.BUG, Confidence.MEDIUM
    return _report.finding(
        library, place, severity, confidence, message, symbol=access.function, evidence=evidence
    )


def _args(item: Early, access: Access) -> dict[str, str]:
    return {
        "op": item.user[0].name,
        "mover": item.mover[0].name,
        "function": access.function,
        "caller": item.user[1].function,
        "index": item.params[0],
        "amount": item.params[1],
        "limit": access.buffer,
    }


def half_moved(sides: Sides, ops: set[str]) -> Iterator[Finding]:
    """Functions in which this change stopped taking a round's tokens off the index in one place, and another use of
    the same index, a limit it is compared with, still takes them for included."""

    def before(facts: OpFacts) -> OpFacts | None:
        return next(
            (f for f in sides.base.library.facts(facts.name) if f.hardware == facts.hardware), None
        )

    def freed(facts: OpFacts) -> set[str]:
        old = before(facts) if facts.name in ops else None
        return _taken(old) if old is not None else set()

    told: set[tuple[str, int]] = set()
    for item in early(sides.head, set(), ops, freed):
        old = before(item.user[0])
        for access in _left(item, old) if old is not None else ():
            if (access.path, access.line) not in told:
                told.add((access.path, access.line))
                yield _half_moved(sides.head, item, access)


def _left(item: Early, old: OpFacts) -> Iterator[Access]:
    index, amount = item.params
    now = {(a.kind, a.buffer, a.function): a for a in item.user[0].accesses if a.index == index}
    then = {(a.kind, a.buffer, a.function): a for a in old.accesses if a.index == index}
    freed = {
        key[2]
        for key, a in then.items()
        if key[0] == "read"
        and (amount, -1) in a.lag
        and key in now
        and (amount, -1) not in now[key].lag
    }
    for key, access in now.items():
        before = then.get(key)
        if (
            key[0] != "compare"
            or key[2] not in freed
            or before is None
            or before.lag
            or access.high is None
        ):
            continue
        if before.high == access.high and not any(name == amount for name, _ in access.high.loads):
            yield access


def _half_moved(product: Product, item: Early, access: Access) -> Finding:
    (_, site), (mover, later) = item.user, item.mover
    library, args = product.library, _args(item, access)
    advanced = next(v for k, v in mover.advances if later.keys(mover).get(k) == item.index)
    evidence = (
        _report.step(library, Location(site.path, site.line), "called-before", **args),
        _report.step(library, Location(later.path, later.line), "called-after", **args),
        _report.step(library, Location(*advanced), "advances", **args),
    )
    place = Location(access.path, access.line)
    message = Message("half-moved", args)
    severity, confidence = Severity.QUESTION, Confidence.MEDIUM
    return _report.finding(
        library, place, severity, confidence, message, symbol=access.function, evidence=evidence
    )
