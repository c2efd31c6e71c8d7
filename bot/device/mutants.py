"""Small mistakes in changed lines of device code, and whether a test notices them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from bot.device.observations import cases_by_test
from bot.device.process import Json, run_job
from bot.device.tests import TestPlan, run_files
from bot.device.workspace import Workspace
from bot.reports.device_run import CaseResult, CoveredLines, MutantResult, SideBuild, SourceBuild
from checks.core.change import ChangeSet

# Mistakes in one source: each is compiled by itself.
_MOST = 24
_SILENCE = 420.0
_NOT_CODE = re.compile(
    r'//[^\n]*|"(?:\\.|[^"\\\n])*"|/\*.*?\*/|^[ \t]*#[^\n]*', re.DOTALL | re.MULTILINE
)
_NOT_BREAK = re.compile(r"[^\n]")
# What stands there, and the mistake. Angle brackets count only between blanks: else they are a
# template's.
_MISTAKES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?<= )<(?= )"), "<="),
    (re.compile(r"(?<= )>(?= )"), ">="),
    (re.compile(r"<="), "<"),
    (re.compile(r"(?<!-)>="), ">"),
    (re.compile(r"=="), "!="),
    (re.compile(r"!="), "=="),
    (re.compile(r"&&"), "||"),
    (re.compile(r"\|\|"), "&&"),
    (re.compile(r"(?<= )\+(?= )"), "-"),
    (re.compile(r"(?<= )-(?= )"), "+"),
    (re.compile(r"\+="), "-="),
    (re.compile(r"-="), "+="),
    (re.compile(r"\btrue\b"), "false"),
    (re.compile(r"\bfalse\b"), "true"),
    (re.compile(r"!(?=[A-Za-z(_])"), ""),
    (re.compile(r"(?<![\w.])0(?![\w.])"), "1"),
    (re.compile(r"(?<![\w.])1(?![\w.])"), "2"),
    # A barrier or a guard that is missing, and an index that is one too large or another's.
    (re.compile(r"\b__sync(?:threads|warp)\([^()]*\);"), ";"),
    (re.compile(r"\bif \(.*\) (?:return|continue|break);"), ";"),
    (re.compile(r"\[(\w+)\](?! *\{)"), r"[\1 + 1]"),
    (re.compile(r"\bthreadIdx\.x\b"), "blockIdx.x"),
    (re.compile(r"\bblockIdx\.x\b"), "threadIdx.x"),
    (re.compile(r"\[(\w+)\]\[(\w+)\]"), r"[\2][\1]"),
)


@dataclass(frozen=True, slots=True)
class Mutant:
    """One mistake: the line before and after, and the whole text of the source with it."""

    path: str
    line: int
    before: str
    after: str
    text: str


def mutants_of(path: str, text: str, lines: Sequence[int]) -> Iterator[Mutant]:
    """One mistake at each place of `lines` (numbers from 1) where one fits."""
    rows = text.split("\n")
    codes = _NOT_CODE.sub(lambda match: _NOT_BREAK.sub(" ", match[0]), text).split("\n")
    for number in lines:
        before, code = rows[number - 1], codes[number - 1]
        for pattern, mistake in _MISTAKES:
            for match in pattern.finditer(code):
                after = before[: match.start()] + match.expand(mistake) + before[match.end() :]
                mutated = [*rows[: number - 1], after, *rows[number:]]
                yield Mutant(path, number, before.strip(), after.strip(), "\n".join(mutated))


def choose(
    change: ChangeSet, covered: Sequence[CoveredLines], *, alone: bool
) -> Iterator[list[Mutant]]:
    """The mistakes of each source: in lines that a test reaches and, with a base, are changed.

    Where there are too many they are taken evenly from all of them.
    """
    for source in covered:
        file = change.changed(source.path)
        lines = [line for line, count in sorted(source.counts.items()) if count > 0]
        if not alone:
            changed = set(file.head_lines()) if file is not None else set()
            lines = [line for line in lines if line in changed]
        text = (change.head.read(source.path) or b"").decode("utf-8", "replace")
        found = list(mutants_of(source.path, text.replace("\r\n", "\n"), lines))
        step = max(-(-len(found) // _MOST), 1)
        chosen = list(islice(found, 0, None, step))
        if chosen:
            yield chosen


def judge(
    workspace: Workspace,
    head: SideBuild,
    tests: SideBuild,
    mutants: Sequence[Mutant],
    before: Mapping[str, CaseResult],
    longest: float,
) -> list[MutantResult]:
    """What the tests say of each mistake in one source."""
    libraries = _build(workspace, head, mutants)
    jobs = list(enumerate(mutants))

    def run(job: tuple[int, Mutant]) -> MutantResult:
        number, mutant = job
        library = libraries.get(number, "")
        if not library:
            return MutantResult(mutant.path, mutant.line, mutant.before, mutant.after, "not-built")
        build = _with_library(head, mutant.path, library)
        label = f"mutant-{Path(mutant.path).stem}-{number}"
        plan = TestPlan(workspace, tests, build, label, longest=longest)
        outcome = "noticed" if _is_noticed(plan, tests, mutant.path, before) else "unnoticed"
        return MutantResult(mutant.path, mutant.line, mutant.before, mutant.after, outcome)

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(run, jobs))


def _build(workspace: Workspace, head: SideBuild, mutants: Sequence[Mutant]) -> dict[int, str]:
    """The library of each mistake that compiles, by its number."""
    path = mutants[0].path
    folder = workspace.job(f"mutants-{path.replace('/', '-')}")
    job: Json = {
        "action": "mutate",
        "root": str(head.root),
        "source": path,
        "texts": [mutant.text for mutant in mutants],
        "output": str(folder / "out"),
        "caches": [str(workspace.cache)],
    }
    result = run_job(job, folder, _SILENCE)
    return {int(event["number"]): str(event["library"]) for event in result.of("mutant")}


def _with_library(head: SideBuild, path: str, library: str) -> SideBuild:
    """The build with another library of one source, and of all that are linked with it."""
    [changed] = [source for source in head.sources if source.path == path]
    sources: list[SourceBuild] = []
    for source in head.sources:
        is_linked = source is changed or (source.modules and source.modules == changed.modules)
        sources.append(replace(source, library=library) if is_linked else source)
    return replace(head, sources=tuple(sources))


def _is_noticed(
    plan: TestPlan, tests: SideBuild, path: str, before: Mapping[str, CaseResult]
) -> bool:
    """Whether a test of the source's ops ends otherwise than without the mistake."""
    [source] = [source for source in plan.build.sources if source.path == path]
    files = {file: ops for file, ops in tests.tests.items() if set(ops) & set(source.ops)}
    after = cases_by_test(run_files(plan, files, lambda _: None))
    return any(
        case.outcome != before[test].outcome for test, case in after.items() if test in before
    )
