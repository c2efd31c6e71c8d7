"""What the runs of tests and calls mean: facts for the rules of the family `device`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bot.device.process import Json
from bot.device.tests import FileResult
from bot.reports.device_run import (
    FAILED,
    PASSED,
    PROCESS,
    TOO_SLOW,
    CaseResult,
    SiblingResult,
    SideBuild,
)
from checks.core.change import ChangeSet
from checks.core.finding import Execution
from checks.core.observation import DeviceObservation, ObservationKind

_LONGEST = 300
# Where sides differ of which one ended its process.
THE_PROCESS = "the process"
# How a test ends that gives an op other arguments than it takes; not every `OpError` is that.
_REFUSED = re.compile(r"OpError: (takes \d+ arguments, not \d+|an argument is no )")


@dataclass(frozen=True, slots=True)
class Witness:
    """Makes facts about one change: where a finding stands, and the command that shows it."""

    change: ChangeSet
    build: SideBuild
    command: str

    def observe(  # noqa: PLR0913
        self,
        kind: ObservationKind,
        ops: Sequence[str],
        test: str,
        text: str,
        *,
        schedule: int = 0,
        inputs: Sequence[Sequence[str]] = (),
        expected: str = "",
        got: str = "",
        at: tuple[str, int] | None = None,
        certain: bool = True,
        sibling: str = "",
    ) -> DeviceObservation:
        """A fact at the source of the first of `ops`, or at `at`."""
        path, line = at or self._place(ops)
        op = _registered(ops, self.build) or test
        shown = tuple((str(name), str(value)) for name, value in inputs)
        # The op's own source: a header or a copy alone is nothing to start from.
        command = f"{self.command} --paths {shlex.quote(self.build.source_of(ops) or path)}"
        execution = Execution(op, shown, expected, got, schedule, command)
        return DeviceObservation(
            kind, op, path, line, test, _short(text), execution, certain, sibling
        )

    def _place(self, ops: Sequence[str]) -> tuple[str, int]:
        return self.place_in(self.build.source_of(ops))

    def place_in(self, path: str) -> tuple[str, int]:
        """The first changed line of a file, or its first."""
        changed = self.change.changed(path)
        if changed is None or not changed.hunks:
            return path, 1
        return path, max(changed.hunks[0].head_start, 1)


def _registered(ops: Sequence[str], build: SideBuild) -> str:
    for source in build.sources:
        for op in source.ops:
            if op in ops:
                return op
    return ""


def _short(text: str) -> str:
    """One line, as long as a report can bear."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[:_LONGEST] + "..."


def cases_by_test(results: Iterable[FileResult]) -> dict[str, CaseResult]:
    """All cases, by the test's name."""
    return {case.test: case for result in results for case in result.cases}


def broken_tests(
    witness: Witness,
    base: Mapping[str, CaseResult],
    head: Mapping[str, CaseResult],
    own: Mapping[str, CaseResult],
) -> list[DeviceObservation]:
    """Base's tests that pass on base and fail on head.

    `own` are the head's own versions of tests that the change altered. Where that passes, or the
    change took the test out of its file, the author has said that the result was meant to change:
    it is a question, one for each file.
    """
    facts = []
    asked: set[str] = set()
    for test, case in head.items():
        before = base.get(test)
        if case.outcome != FAILED or before is None or before.outcome != PASSED:
            continue
        certain = _is_certain(witness.change, case, own.get(test))
        if not certain and (case.file in asked or _REFUSED.match(case.why)):
            continue
        if not certain:
            asked.add(case.file)
        ops = witness.build.tests.get(case.file, ())
        kind = ObservationKind.TEST_FAILS
        if _is_barrier(case.why):
            kind = ObservationKind.BARRIER
        facts.append(witness.observe(kind, ops, test, case.why, certain=certain))
    return facts


def _is_certain(change: ChangeSet, case: CaseResult, altered: CaseResult | None) -> bool:
    """Whether the author still wants what the test says."""
    if altered is None:
        return change.changed(case.file) is None
    return altered.outcome != PASSED


def failing_new_tests(
    witness: Witness, base: Mapping[str, CaseResult], own: Mapping[str, CaseResult]
) -> list[DeviceObservation]:
    """The change's own tests that fail on its code, and did not fail so before."""
    facts = []
    for test, case in own.items():
        before = base.get(test)
        if case.outcome != FAILED or (before is not None and before.outcome == FAILED):
            continue
        # What is slow here may be fast on a device, and nothing shows how long it took before.
        if case.kind == TOO_SLOW and before is None:
            continue
        ops = witness.build.tests.get(case.file, ())
        certain = not case.is_cut_off
        facts.append(
            witness.observe(ObservationKind.REFERENCE, ops, test, case.why, certain=certain)
        )
    return facts


def _is_barrier(text: str) -> bool:
    return "barrier: " in text and "wait for ever" in text


def order_dependent_tests(
    witness: Witness, results: Mapping[int, Sequence[FileResult]], known: set[str]
) -> list[DeviceObservation]:
    """Tests that pass under one schedule and fail under another, but for `known` ones."""
    facts = []
    seeds = sorted(results)
    first = cases_by_test(results[seeds[0]])
    seen = set(known)
    for seed in seeds[1:]:
        for test, case in cases_by_test(results[seed]).items():
            before = first.get(test)
            if before is None or test in seen or {before.outcome, case.outcome} != {PASSED, FAILED}:
                continue
            failing = case if case.outcome == FAILED else before
            # What a wild access hits follows no order of threads; the sanitizers tell of it.
            if failing.kind == PROCESS:
                continue
            ops = witness.build.tests.get(case.file, ())
            schedule = seed if failing is case else seeds[0]
            seen.add(test)
            facts.append(
                witness.observe(ObservationKind.RACE, ops, test, failing.why, schedule=schedule)
            )
    return facts


def barriers(
    witness: Witness, results: Iterable[FileResult], known: set[str]
) -> list[DeviceObservation]:
    """Divergences that were seen, each once, but for those of ops in `known`."""
    facts: dict[str, DeviceObservation] = {}
    for result in results:
        for op, texts in result.barriers.items():
            # What a test needs besides is not asked about.
            if op in known or op in facts or not witness.build.source_of([op]):
                continue
            facts[op] = witness.observe(ObservationKind.BARRIER, [op], result.file, texts[0])
    return list(facts.values())


def sanitizer_errors(
    witness: Witness, results: Iterable[FileResult], known: set[str]
) -> list[DeviceObservation]:
    """Errors of sanitizers, each once, but for those that base has too."""
    facts: dict[str, DeviceObservation] = {}
    for result in results:
        ops = witness.build.tests.get(result.file, ())
        for error in result.sanitizers:
            if error.text in known or error.text in facts:
                continue
            at = (error.path, error.line) if error.path else None
            facts[error.text] = witness.observe(
                ObservationKind.SANITIZER, ops, result.file, error.text, at=at
            )
    return list(facts.values())


def replayed(
    witness: Witness, kind: ObservationKind, events: Iterable[Json], known: set[str]
) -> list[DeviceObservation]:
    """Differences of replayed calls: of each op the smallest, but for ops in `known`."""
    smallest: dict[str, Json] = {}
    for event in events:
        op = str(event.get("op"))
        if op in known:
            continue
        if op not in smallest or event["size"] < smallest[op]["size"]:
            smallest[op] = event
    facts = []
    for op, event in smallest.items():
        expected, _, got = str(event["difference"]).partition(" / ")
        facts.append(
            witness.observe(
                kind,
                [op],
                str(event["call"]),
                str(event["difference"]),
                schedule=int(event["seed"]),
                inputs=event["inputs"],
                expected=expected,
                got=got,
                certain=bool(event["is_shown"]),
            )
        )
    return facts


def varied(witness: Witness, results: Iterable[SiblingResult]) -> list[DeviceObservation]:
    """Ops whose result is another than before on an input that their own tests do not show."""
    facts = []
    for result in results:
        by_size = sorted(result.differences, key=lambda event: int(event["size"]))
        for event in (*result.varied_differences, *by_size[:1]):
            facts.append(
                witness.observe(
                    ObservationKind.CHANGED_RESULT,
                    [result.op],
                    "",
                    f"{event['place']}: {event['expected']} / {event['got']}",
                    inputs=event["inputs"],
                    expected=str(event["expected"]),
                    got=str(event["got"]),
                    certain=False,
                )
            )
    return facts


def watched(witness: Witness, results: Iterable[SiblingResult]) -> list[DeviceObservation]:
    """What a sanitizer saw of an op on an input that its own tests do not show, and on which it saw
    nothing before the change."""
    facts = []
    for result in results:
        ended = [event for event in result.varied_differences if event["place"] == THE_PROCESS]
        if not ended or result.error is None:
            continue
        at = (result.error.path, result.error.line) if result.error.path else None
        facts.append(
            witness.observe(
                ObservationKind.SANITIZER,
                [result.op],
                "",
                result.error.text,
                inputs=ended[0]["inputs"],
                at=at,
                certain=False,
            )
        )
    return facts
