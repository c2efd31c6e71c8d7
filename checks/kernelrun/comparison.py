"""Base against head: which case got worse, which outputs changed, which got slower."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from checks.kernelrun.model import WHOLE_OP, Case, Run, Status
from checks.kernelrun.speed import Speedup, Ratio, ratio
from checks.kernelrun.tensors import TensorError, difference


@dataclass(frozen=True, slots=True)
class Change:
    """An output whose bytes differ between base and head. `largest` is None where a difference has no size, and
    `differing` where type or shape differ."""

    output: str
    differing: int | None
    elements: int
    largest: float | None


@dataclass(frozen=True, slots=True)
class Pair:
    """One case on both sides. A side that has no such case is None."""

    op: str
    name: str
    base: Case | None
    head: Case | None
    bit_equal: bool | None  # None where a side has no outputs
    changes: tuple[Change, ...]
    ratio: Ratio | None

    @property
    def worse(self) -> bool:
        """Head does what base did not: a worse status, or significantly slower."""
        if self.head is None:
            return self.base is not None
        before = self.base.status if self.base is not None else Status.OK
        slower = self.ratio is not None and self.ratio.pace is Speedup.SLOWER
        return self.head.status.worse_than(before) or slower


@dataclass(frozen=True, slots=True)
class Comparison:
    """All pairs, in base's order and then head's. `apart` names the parts of the device key that differ: then there
    are no pairs, because nothing can be said."""

    base: Run
    head: Run
    pairs: tuple[Pair, ...]
    apart: tuple[str, ...] = ()

    @property
    def worse(self) -> tuple[Pair, ...]:
        """The cases that got worse."""
        return tuple(p for p in self.pairs if p.worse)

    @property
    def same_harness(self) -> bool:
        """Whether the same cases, harness and reference judged both sides."""
        return self.base.harness == self.head.harness

    @property
    def timed(self) -> bool:
        """Whether times mean anything: not under the interpreter."""
        return not self.base.device.get("interpreter")


def compare(base: Run, head: Run) -> Comparison:
    """Base against head, case by case."""
    names = sorted({*base.device, *head.device})
    apart = tuple(n for n in names if base.device.get(n) != head.device.get(n))
    if apart:
        return Comparison(base, head, (), apart)
    before, after = ({c.key: c for c in run.cases} for run in (base, head))
    keys = dict.fromkeys([*before, *after])
    return Comparison(
        base,
        head,
        tuple(_pair(*key, base, head, _of(key, before), _of(key, after)) for key in keys),
    )


def _of(key: tuple[str, str], cases: Mapping[tuple[str, str], Case]) -> Case | None:
    """A side's case. An op that could not be imported has one entry for all its cases."""
    return cases.get(key) or cases.get((key[0], WHOLE_OP))


def _pair(
    op: str, name: str, base: Run, head: Run, before: Case | None, after: Case | None
) -> Pair:
    if before is None or after is None or not before.outputs or not after.outputs:
        return Pair(op, name, before, after, None, (), None)
    changes = tuple(_changes(base, head, before, after))
    # The bench's gate: the speed of a wrong answer is not worth a word.
    right = before.status is after.status is Status.OK
    return Pair(
        op,
        name,
        before,
        after,
        not changes,
        changes,
        ratio(before.times, after.times) if right else None,
    )


def _changes(base: Run, head: Run, before: Case, after: Case) -> list[Change]:
    was = {o.name: o for o in before.outputs}
    now = {o.name: o for o in after.outputs}
    old, new = base.outputs_of(before), head.outputs_of(after)
    found = []
    for name in dict.fromkeys([*was, *now]):
        a, b = was.get(name), now.get(name)
        if (
            a is not None
            and b is not None
            and (a.dtype, a.shape, a.sha256) == (b.dtype, b.shape, b.sha256)
        ):
            continue
        found.append(Change(name, None, 0, None))
        if (
            a is None
            or b is None
            or (a.dtype, a.shape) != (b.dtype, b.shape)
            or name not in old
            or name not in new
        ):
            continue
        try:
            apart = difference(new[name], old[name])
        except TensorError:
            continue
        found[-1] = Change(name, apart.differing, apart.elements, apart.largest)
    return found
