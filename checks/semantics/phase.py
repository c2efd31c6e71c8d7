"""Before or after the index moves: ops that count on a round's tokens being in the index while they are not, or the
other way round, by the order of the calls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.finding import Confidence, Finding, Location, Message, Severity
from checks.semantics import report
from checks.semantics.buffers import Site
from checks.semantics.conventions import Product
from checks.semantics.library import OpFacts
from checks.semantics.pairs import Sides
from checks.semantics.values import Access


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


def early(product: Product, wanted: set[tuple[str, str]]) -> Iterator[Early]:
    """Every use of an index before it moves, in the functions `wanted` (path, qualified name)."""
    for path, function in sorted(wanted):
        sites = product.buffers.within(path, {function})
        bound = [(f, s) for s in sites for f in product.library.facts(s.op) if s.runs(f)]
        known = [(f, s, s.keys(f)) for f, s in bound if f.advances]
        movers = [(f, s, k[i]) for f, s, k in known for i, _ in f.advances if i in k]
        for mover, where, index in movers:
            first = min(s.line for f, s, k in movers if k == index and f.hardware == mover.hardware)
            given = set(where.keys(mover).values())
            for facts, site in bound:
                if facts.hardware != mover.hardware or site.line >= first or where.line != first:
                    continue
                keys = site.keys(facts)
                mine = [p for p, k in keys.items() if k == index]
                for param, amount in keys.items():
                    if mine and amount in given and amount != index:
                        yield Early((facts, site), (mover, where), index, amount, (mine[0], param))


def _lagging(item: Early) -> list[Access]:
    """Uses in which the op takes the round's tokens off the index again."""
    index, amount = item.params
    return [a for a in item.user[0].accesses if a.index == index and (amount, -1) in a.lag and a.kind != "write"]


def too_early(sides: Sides, functions: set[tuple[str, str]]) -> Iterator[Finding]:
    """Ops that subtract a round's tokens from an index to which they are not added yet, new with this change."""
    told: set[tuple[str, str, str, str]] = set()
    for item in early(sides.head, functions):
        facts = item.user[0]
        for access in sorted(_lagging(item), key=lambda a: (a.path, a.line)):
            key = (facts.name, facts.hardware, access.function, access.path)
            if key not in told and not _was_early(sides.base, item, access):
                yield _too_early(sides.head, item, access)
            told.add(key)


def _was_early(base: Product, item: Early, access: Access) -> bool:
    """Whether the op was called too early before the change too, from any function: one may have been renamed."""
    facts = item.user[0]
    callers = {(s.path, s.function) for s in base.buffers.of(facts.name)}
    return any(
        other.user[0].name == facts.name
        and other.user[0].hardware == facts.hardware
        and old.function == access.function
        for other in early(base, callers)
        for old in _lagging(other)
    )


def _too_early(product: Product, item: Early, access: Access) -> Finding:
    (_, site), (mover, later) = item.user, item.mover
    args = _args(item, access)
    advanced = next(v for k, v in mover.advances if later.keys(mover).get(k) == item.index)
    library = product.library
    evidence = (
        report.step(library, Location(site.path, site.line), "called-before", **args),
        report.step(library, Location(later.path, later.line), "called-after", **args),
        report.step(library, Location(*advanced), "advances", **args),
    )
    message = Message("too-early", args)
    place = Location(access.path, access.line)
    severity, confidence = Severity.BUG, Confidence.MEDIUM
    return report.finding(library, place, severity, confidence, message, symbol=access.function, evidence=evidence)


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


def half_moved(sides: Sides, ops: set[str], functions: set[tuple[str, str]]) -> Iterator[Finding]:
    """Functions in which this change stopped taking a round's tokens off the index in one place, and another use of
    the same index, a limit it is compared with, still takes them for included."""
    told: set[tuple[str, int]] = set()
    callers = {(s.path, s.function) for op in ops for s in sides.head.buffers.of(op)}
    for item in early(sides.head, functions | callers):
        facts = item.user[0]
        old = [f for f in sides.base.library.facts(facts.name) if f.hardware == facts.hardware]
        if facts.name not in ops or not old:
            continue
        for access in _left(item, old[0]):
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
        if key[0] == "read" and (amount, -1) in a.lag and key in now and (amount, -1) not in now[key].lag
    }
    for key, access in now.items():
        before = then.get(key)
        if key[0] != "compare" or key[2] not in freed or before is None or before.lag or access.high is None:
            continue
        if before.high == access.high and not any(name == amount for name, _ in access.high.loads):
            yield access


def _half_moved(product: Product, item: Early, access: Access) -> Finding:
    (_, site), (mover, later) = item.user, item.mover
    library, args = product.library, _args(item, access)
    advanced = next(v for k, v in mover.advances if later.keys(mover).get(k) == item.index)
    evidence = (
        report.step(library, Location(site.path, site.line), "called-before", **args),
        report.step(library, Location(later.path, later.line), "called-after", **args),
        report.step(library, Location(*advanced), "advances", **args),
    )
    place = Location(access.path, access.line)
    message = Message("half-moved", args)
    severity, confidence = Severity.QUESTION, Confidence.MEDIUM
    return report.finding(library, place, severity, confidence, message, symbol=access.function, evidence=evidence)
