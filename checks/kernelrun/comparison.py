"""Base against head: which case got worse, which outputs changed, which got slower."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from checks.kernelrun.model import WHOLE_OP, CaseStatus, KernelCase, KernelRunResult, Output
from checks.kernelrun.speed import Ratio, Speedup, ratio
from checks.kernelrun.tensors import Tensor, TensorError, difference


@dataclass(frozen=True, slots=True)
class Change:
    """An output whose bytes differ between base and head.

    `differing` counts elements, None where type or shape differ. `largest` is None where a
    difference has no size.
    """

    output: str
    differing: int | None
    elements: int
    largest: float | None


@dataclass(frozen=True, slots=True)
class Pair:
    """One case on both sides. A side that has no such case is None.

    `bit_equal` is None where a side has no outputs.
    """

    op: str
    name: str
    base: KernelCase | None
    head: KernelCase | None
    bit_equal: bool | None
    changes: tuple[Change, ...]
    ratio: Ratio | None

    @property
    def worse(self) -> bool:
        """Whether head has a worse status than base, or is significantly slower."""
        if self.head is None:
            return self.base is not None
        base_status = self.base.status if self.base is not None else CaseStatus.OK
        if self.head.status.worse_than(base_status):
            return True
        return self.ratio is not None and self.ratio.pace is Speedup.SLOWER


@dataclass(frozen=True, slots=True)
class Comparison:
    """All pairs, in base's order and then head's.

    `apart` names the parts of the device key that differ. There are no pairs then, because nothing
    can be said.
    """

    base: KernelRunResult
    head: KernelRunResult
    pairs: tuple[Pair, ...]
    apart: tuple[str, ...] = ()

    @property
    def worse(self) -> tuple[Pair, ...]:
        """The cases that got worse."""
        return tuple(pair for pair in self.pairs if pair.worse)

    @property
    def same_harness(self) -> bool:
        """Whether the same cases, harness and reference judged both sides."""
        return self.base.harness == self.head.harness

    @property
    def timed(self) -> bool:
        """Whether times mean anything: they do not under the interpreter."""
        return not self.base.device.get("interpreter")


def compare(base: KernelRunResult, head: KernelRunResult) -> Comparison:
    """Base against head, case by case."""
    device_keys = sorted({*base.device, *head.device})
    apart = tuple(key for key in device_keys if base.device.get(key) != head.device.get(key))
    if apart:
        return Comparison(base, head, (), apart)
    base_cases = {case.key: case for case in base.cases}
    head_cases = {case.key: case for case in head.cases}
    pairs = []
    for key in dict.fromkeys([*base_cases, *head_cases]):
        base_case, head_case = _case_of(key, base_cases), _case_of(key, head_cases)
        pairs.append(_compare_case(key, base, head, base_case, head_case))
    return Comparison(base, head, tuple(pairs))


def _case_of(
    key: tuple[str, str], cases: Mapping[tuple[str, str], KernelCase]
) -> KernelCase | None:
    """A side's case. An op that could not be imported has one entry for all its cases."""
    op, _ = key
    return cases.get(key) or cases.get((op, WHOLE_OP))


def _compare_case(
    key: tuple[str, str],
    base: KernelRunResult,
    head: KernelRunResult,
    base_case: KernelCase | None,
    head_case: KernelCase | None,
) -> Pair:
    op, name = key
    if base_case is None or head_case is None or not base_case.outputs or not head_case.outputs:
        return Pair(op, name, base_case, head_case, None, (), None)
    changes = tuple(_changes(base, head, base_case, head_case))
    # As in the benchmarks, the speed of a wrong answer is not worth a word.
    both_right = base_case.status is head_case.status is CaseStatus.OK
    speed = ratio(base_case.times, head_case.times) if both_right else None
    return Pair(op, name, base_case, head_case, not changes, changes, speed)


def _changes(
    base: KernelRunResult, head: KernelRunResult, base_case: KernelCase, head_case: KernelCase
) -> Iterator[Change]:
    base_outputs = {output.name: output for output in base_case.outputs}
    head_outputs = {output.name: output for output in head_case.outputs}
    base_tensors, head_tensors = base.outputs_of(base_case), head.outputs_of(head_case)
    for name in dict.fromkeys([*base_outputs, *head_outputs]):
        before, after = base_outputs.get(name), head_outputs.get(name)
        same_form = before is not None and after is not None and _form(before) == _form(after)
        if before is not None and after is not None and same_form and before.sha256 == after.sha256:
            continue
        change = None
        if same_form:
            change = _measure(name, base_tensors.get(name), head_tensors.get(name))
        yield change or Change(name, None, 0, None)


def _form(output: Output) -> tuple[str, tuple[int, ...]]:
    return output.dtype, output.shape


def _measure(name: str, base: Tensor | None, head: Tensor | None) -> Change | None:
    """How far the tensors differ; None where one is not at hand or is of a type not compared."""
    if base is None or head is None:
        return None
    try:
        measured = difference(head, base)
    except TensorError:
        return None
    return Change(name, measured.differing, measured.elements, measured.largest)
