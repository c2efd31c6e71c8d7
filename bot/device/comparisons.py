"""What each op was compared with, and on how many inputs: the account that `compare -v` gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from bot.device.process import Json
from bot.device.tests import FileResult
from bot.reports.device_run import FAILED, NOT_RUN, Comparison, SiblingResult


def with_tests(
    against: str, results: Iterable[FileResult], tests: Mapping[str, Sequence[str]]
) -> list[Comparison]:
    """The cases of the test files that import each op; a case that was not run is no input."""
    cases: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for result in results:
        run = [case for case in result.cases if case.outcome != NOT_RUN]
        wrong = sum(case.outcome == FAILED for case in run) or len(result.sanitizers)
        for op in tests.get(result.file, ()):
            cases[op] += len(run)
            failed[op] += wrong
    return [Comparison(op, against, "", cases[op], failed[op]) for op in sorted(cases)]


def with_replays(against: str, asked: str, found: str, events: Iterable[Json]) -> list[Comparison]:
    """The calls of each op that were made again: an event `asked` each, and `found` where the
    results differ."""
    calls: Counter[str] = Counter()
    different: Counter[str] = Counter()
    for event in events:
        calls[str(event.get("op"))] += event["event"] == asked
        different[str(event.get("op"))] += event["event"] == found
    return [
        Comparison(op, against, "", count, different[op])
        for op, count in sorted(calls.items())
        if count
    ]


def with_variations(against: str, results: Iterable[SiblingResult]) -> list[Comparison]:
    """The variations of recorded inputs on which an op gave a result before and after."""
    return [
        Comparison(result.op, against, "", _varied(result), len(result.varied_differences))
        for result in results
        if _varied(result)
    ]


def _varied(result: SiblingResult) -> int:
    return sum(result.varied.get(name, 0) for name in ("agrees", "differs"))


def with_copies(siblings: Iterable[SiblingResult]) -> list[Comparison]:
    """The recorded and varied inputs on which an op and its copy both gave a result."""
    comparisons = []
    for sibling in siblings:
        inputs = len(sibling.agreed) + len(sibling.differences) + _varied(sibling)
        differed = len(sibling.differences) + len(sibling.varied_differences)
        comparisons.append(Comparison(sibling.op, "copy", sibling.copy, inputs, differed))
    return comparisons
