"""Device ops and their copies for other hardware, run on the same inputs."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from bot.device.copies import OpCopy
from bot.device.observations import Witness
from bot.device.process import JobResult, Json, run_job
from bot.device.tests import sanitizer_error
from bot.device.workspace import Workspace
from bot.reports.device_run import SanitizerError, SiblingResult, SideBuild
from checks.core.observation import DeviceObservation, ObservationKind

# The label of the jobs that run the copies' own tests.
COPIES = "copies"
AGREES, DIFFERS, NOT_COMPARED = "agrees", "differs", "not-compared"
_SILENCE = 120.0
# Inputs made of those that tests show; each costs some milliseconds. Of those that a change
# promises to leave the results of there is nothing else to go by.
VARIATIONS, PROMISED = 300, 900
# A process that dies is started again without the call that it died of, so often.
_MOST_DEATHS = 4


@dataclass(frozen=True, slots=True)
class SiblingPlan:
    """What is compared: the builds of one side, and the folder of recorded calls; those of the
    copies' own tests have names that begin with `copy_label`, if any have."""

    workspace: Workspace
    side: str
    own: SideBuild
    copies: SideBuild
    calls: Path
    copy_label: str = COPIES
    variations: int = VARIATIONS


def compare_all(
    plan: SiblingPlan, copies: Sequence[OpCopy], tick: Callable[[OpCopy], None]
) -> list[SiblingResult]:
    """Every op with its copy, as many at once as there are cores."""
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        results = []
        for item, result in zip(
            copies, pool.map(lambda item: _compare(plan, item), copies), strict=True
        ):
            tick(item)
            results.append(result)
    return results


def _compare(plan: SiblingPlan, item: OpCopy) -> SiblingResult:
    refusal = _refusal(plan, item)
    if refusal:
        return SiblingResult(item.op, item.path, refusal)
    left_out: list[str] = []
    variations, apart = plan.variations, False
    deaths = 0
    while True:
        result = _run(plan, item, left_out, deaths, variations, apart=apart)
        if result.finished or deaths == _MOST_DEATHS:
            return _sibling_result(item, result, left_out)
        deaths += 1
        died_of = [str(event.get("call")) for event in result.of("call")]
        if died_of and died_of[-1]:
            left_out.append(died_of[-1])
        elif apart:
            variations = 0
        else:
            apart = True


def _refusal(plan: SiblingPlan, item: OpCopy) -> str:
    """Why the op or its copy was not built; a helper that is missing is told by the loader."""
    if item.op in plan.own.refusals:
        return plan.own.refusals[item.op]
    for source in plan.copies.sources:
        if source.path == item.path and not source.library:
            return source.refusal
    return ""


def _run(
    plan: SiblingPlan,
    item: OpCopy,
    left_out: Sequence[str],
    attempt: int,
    variations: int,
    *,
    apart: bool,
) -> JobResult:
    name = item.path.replace("/", "-")
    folder = plan.workspace.job(f"sibling-{plan.side}-{item.op}-{name}-{attempt}")
    libraries = {
        source.library: list(source.ops)
        for source in plan.copies.sources
        if source.library and source.path in item.files
    }
    job: Json = {
        "action": "sibling",
        "op": item.op,
        "calls": str(plan.calls),
        "runtime": plan.own.runtime,
        "libraries": plan.own.libraries,
        "copy": libraries,
        "copy_label": plan.copy_label,
        "modules": [*plan.own.module_libraries, *plan.copies.module_libraries],
        "texts": {
            "own": [str(plan.own.root / plan.own.source_of([item.op]))],
            "copy": [str(plan.copies.root / path) for path in item.files],
        },
        "left_out": list(left_out),
        "variant": plan.own.variant,
        "variations": variations,
        "apart": apart,
    }
    return run_job(job, folder, _SILENCE)


def _sibling_result(item: OpCopy, result: JobResult, left_out: Sequence[str]) -> SiblingResult:
    by_agreement: dict[str, list[Json]] = {AGREES: [], DIFFERS: [], NOT_COMPARED: []}
    for event in result.of("compared"):
        by_agreement.setdefault(str(event.get("agreement")), []).append(event)
    recorded = [event for event in by_agreement[DIFFERS] if event["call"]]
    varied = [event for event in by_agreement[DIFFERS] if not event["call"]]
    end = (result.of("end") or [{}])[0]
    # Of what agrees, a part may be left out too.
    partly = [event for event in by_agreement[AGREES] if event["why"]]
    reasons = [str(event["why"]) for event in (*by_agreement[NOT_COMPARED], *partly)]
    reasons += [f"{call}: the process died" for call in left_out]
    for declared, stand_in in dict(end.get("stand_ins", {})).items():
        reasons.append(f"{declared} is defined nowhere: {stand_in} stands for it")
    why = str(end.get("why", "")) or _unfinished(result)
    return SiblingResult(
        item.op,
        item.path,
        why,
        tuple(str(event["call"]) for event in by_agreement[AGREES]),
        tuple(recorded),
        tuple(dict.fromkeys(reasons)),
        dict(end.get("varied", {})),
        tuple(varied),
        _last_error(result.said),
    )


def _last_error(said: str) -> SanitizerError | None:
    """What a sanitizer saw last: the input that is told was the last one that it ended."""
    start = said.rfind("\n", 0, max(said.rfind("ERROR: AddressSanitizer"), 0)) + 1
    return sanitizer_error(said[start:])


def _unfinished(result: JobResult) -> str:
    if result.finished:
        return ""
    return f"the process was ended by signal {result.signal}" if result.signal else "no end"


def with_base(
    workspace: Workspace,
    head: SideBuild,
    base: SideBuild,
    calls: Path,
    tick: Callable[[OpCopy], None],
    left_out: Collection[str] = (),
) -> list[SiblingResult]:
    """Every op that the change may alter, but for those `left_out`, with itself as it was before:
    the base's is the copy."""
    sources = [source for source in base.sources if source.library]
    same = {library for library in head.libraries if library in base.libraries}
    ops = []
    for source in head.sources:
        for op in source.ops:
            before = base.source_of([op])
            is_other = bool(source.library) and source.library not in same
            if is_other and before and op not in left_out:
                others = (other.path for other in sources if other.path != before)
                ops.append(OpCopy(op, before, tuple(others)))
    side = f"{head.name}-{head.variant}"
    # Where the sanitizers watch each takes several times as long.
    variations = VARIATIONS if head.variant == "sanitized" else PROMISED
    plan = SiblingPlan(workspace, side, head, base, calls, "", variations)
    return compare_all(plan, ops, tick)


def parted(
    witness: Witness,
    copies: Mapping[tuple[str, str], OpCopy],
    head: Sequence[SiblingResult],
    base: Sequence[SiblingResult] | None,
) -> list[DeviceObservation]:
    """Ops that differ from their copies on the head.

    With a base only those inputs count on which both agreed before; without one, or where the input
    is a variation of recorded ones, it is a question.
    """
    before = {(result.op, result.copy): result for result in base or ()}
    facts = []
    for result in head:
        earlier = before.get((result.op, result.copy))
        if base is not None and earlier is None:
            continue
        recorded = _recorded(result, earlier)
        varied = [] if recorded else _varied(result, earlier)
        for event in sorted([*recorded, *varied], key=lambda event: int(event["size"]))[:1]:
            certain = bool(recorded) and earlier is not None and event["is_shown"]
            facts.append(_fact(witness, copies[result.op, result.copy], event, certain=certain))
    return facts


def _recorded(result: SiblingResult, earlier: SiblingResult | None) -> list[Json]:
    if earlier is None:
        return list(result.differences)
    return [event for event in result.differences if event["call"] in earlier.agreed]


def _varied(result: SiblingResult, earlier: SiblingResult | None) -> list[Json]:
    """Both sides of the change were given the same variations, as long as all agree."""
    if earlier is not None and (earlier.varied_differences or not earlier.varied):
        return []
    return list(result.varied_differences)


def _fact(witness: Witness, item: OpCopy, event: Json, *, certain: bool) -> DeviceObservation:
    own = witness.build.source_of([item.op])
    at = None
    if witness.change.changed(own) is None:
        changed = [path for path in item.files if witness.change.changed(path) is not None]
        at = witness.place_in(changed[0]) if changed else None
    return witness.observe(
        ObservationKind.SIBLING,
        [item.op],
        str(event["call"]),
        f"{event['place']}: {event['got']} / {event['expected']}",
        inputs=event["inputs"],
        expected=str(event["expected"]),
        got=str(event["got"]),
        at=at,
        certain=certain,
        sibling=item.path,
    )
