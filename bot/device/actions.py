"""What `specbot device test`, `compare` and `cover` do with a change, up to the report."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path

from bot.device import LONGEST_TEST, comparisons, mutants, observations
from bot.device.build import build_side
from bot.device.copies import CopyFinder, OpCopy
from bot.device.coverage import changed_lines, covered_lines
from bot.device.observations import Witness, cases_by_test
from bot.device.process import Json, run_job
from bot.device.promise import promises_same_results
from bot.device.siblings import COPIES, SiblingPlan, compare_all, parted, with_base
from bot.device.tests import FileResult, TestPlan, run_files
from bot.device.workspace import Workspace, cache_folder, device_sources, write_tree
from bot.errors import UserError
from bot.reports.device_run import (
    FAILED,
    PASSED,
    CaseResult,
    Comparison,
    CoveredLines,
    DeviceReport,
    MutantResult,
    SiblingResult,
    SideBuild,
)
from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Side
from checks.core.observation import DeviceObservation, ObservationKind
from checks.review import review
from checks.rules import device as device_rules

BASE, HEAD = "base", "head"
# Ascending, descending, and two random orders of threads and blocks.
SCHEDULES = (0, 1, 2, 3)
_REPLAY_SILENCE = 300.0
# Seconds that the start of a test's process may take on a busy machine.
_LEAST_TIME = 30.0
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked.

    `alone` says that there is a head and no base to compare it with; `longest` are the seconds
    that one test may take, and `cases` is the most that are run of one test function, or 0.
    """

    action: str
    change: ChangeSet
    config: Config
    command: str
    globs: tuple[str, ...] = ()
    alone: bool = False
    longest: float = LONGEST_TEST
    cases: int = 0


def run(request: Request, tick: Progress) -> DeviceReport:
    """Build, run, and judge. Raises `UserError` where nothing can be run."""
    with tempfile.TemporaryDirectory(prefix="specbot-device-", ignore_cleanup_errors=True) as name:
        workspace = Workspace(Path(name).resolve(), cache_folder())
        report = _Run(request, workspace, tick).report()
        workspace.prune()
        return report


class _Run:
    """One run: what was built and run so far."""

    def __init__(self, request: Request, workspace: Workspace, tick: Progress) -> None:
        self._request = request
        self._change = request.change
        self._workspace = workspace
        self._tick = tick
        self._sources = self._chosen_sources()
        self._written = write_tree(self._change.head, workspace.side(HEAD))
        self._base = None if request.alone else self._build_base()
        self._head = self._build(HEAD, self._sources, helpers=self._helpers_of_base())
        self._witness = Witness(self._change, self._head, request.command)
        self._siblings: list[SiblingResult] = []
        self._comparisons: list[Comparison] = []
        # The recorded calls, and the ops whose results on them are known to differ from base's.
        self._calls = workspace.folder
        self._told: set[str] = set()
        self._variants: dict[tuple[str, str], SideBuild] = {}
        self._results: dict[tuple[Hashable, str], FileResult] = {}

    def _chosen_sources(self) -> list[str]:
        """The sources that `--paths` names; without it the changed ones, or all of a head alone."""
        sources = device_sources(self._change.head, self._request.globs)
        if not self._request.globs and not self._request.alone:
            changed = {file.head_path for file in self._change.files}
            finder = CopyFinder(self._change, self._request.config, Side.HEAD)
            changed |= set(finder.sources_with_changed_copies(sorted(filter(None, changed))))
            headers = {
                Path(path).name for path in changed if path and path.endswith((".h", ".cuh"))
            }
            sources = [s for s in sources if s in changed or self._includes(s, headers)]
        if not sources:
            raise UserError(
                "device-no-sources", globs=list(self._request.globs), alone=self._request.alone
            )
        return sources

    def _includes(self, source: str, headers: set[str]) -> bool:
        if not headers:
            return False
        text = (self._change.head.read(source) or b"").decode("utf-8", "replace")
        return any(f'{header}"' in text for header in headers)

    def _base_sources(self) -> list[str]:
        """The same sources before the change, by the names that they had."""
        names = []
        for path in self._sources:
            changed = self._change.changed(path)
            before = changed.base_path if changed is not None else path
            if before is not None:
                names.append(before)
        return names

    def _build_base(self) -> SideBuild:
        write_tree(self._change.base, self._workspace.side(BASE), self._written)
        paths = set(self._change.base.paths())
        return self._build(BASE, [path for path in self._base_sources() if path in paths])

    def _helpers_of_base(self) -> list[str]:
        """What base's tests need besides, as it is on the head: they judge that too."""
        helpers = () if self._base is None else self._base.helpers
        paths = set(self._change.head.paths())
        return [helper.path for helper in helpers if helper.path in paths]

    def _build(self, side: str, sources: Sequence[str], helpers: Sequence[str] = ()) -> SideBuild:
        self._tick(f"{side}: {len(sources)}")
        return build_side(self._workspace, side, sources, helpers=helpers)

    def _build_as(self, side: str, plain: SideBuild, variant: str) -> SideBuild:
        """The sources of a side in another variant, for the tests of the plain one; what tests need
        besides stays as it is."""
        if (side, variant) not in self._variants:
            sources = [source.path for source in plain.sources if source.library]
            self._tick(f"{side}: {len(sources)} {variant}")
            build = build_side(self._workspace, side, sources, variant, with_tests=False)
            self._variants[side, variant] = replace(build, helpers=plain.helpers)
        return self._variants[side, variant]

    def report(self) -> DeviceReport:
        """The whole run."""
        head_results, before, facts = self._test()
        schedules: tuple[int, ...] = (0,)
        lines: tuple[CoveredLines, ...] = ()
        mistakes: list[MutantResult] = []
        if self._request.action == "compare":
            schedules = SCHEDULES
            known = {fact.test for fact in facts}
            facts += [fact for fact in self._compare(head_results) if fact.test not in known]
        if self._request.action == "cover":
            lines = self._cover()
            facts += self._untested(lines)
            mistakes = self._mutate(lines, head_results)
        observed = replace(self._change, observations=tuple(facts))
        judged = review(observed, self._request.config, device_rules.RULES)
        cases = tuple(case for result in head_results for case in result.cases)
        return DeviceReport(
            self._request.action,
            observed,
            self._head,
            cases,
            before,
            judged.findings,
            schedules,
            lines,
            tuple(self._siblings),
            tuple(mistakes),
            tuple(sorted(self._comparisons, key=attrgetter("op"))),
        )

    def _run(
        self, build: SideBuild, tests: SideBuild, label: str, seed: int = 0, *, record: bool = False
    ) -> list[FileResult]:
        """The test files of `tests` on the device code of `build`."""
        return self._run_some(build, tests, tests.tests, label, seed, record=record)

    def _run_some(
        self,
        build: SideBuild,
        tests: SideBuild,
        files: Mapping[str, Iterable[str]],
        label: str,
        seed: int = 0,
        *,
        record: bool = False,
    ) -> list[FileResult]:
        plan = TestPlan(
            self._workspace,
            tests,
            build,
            label,
            seed,
            record,
            self._request.longest,
            self._request.cases,
        )
        # Of the same libraries and order of threads a file shows the same: it is run once.
        about = (build.root, build.variant, frozenset(build.libraries), tests.root, seed)
        pending = {f: ops for f, ops in files.items() if record or (about, f) not in self._results}
        for result in run_files(plan, pending, lambda file: self._tick(f"{label}: {file}")):
            self._results[about, result.file] = result
        return [self._results[about, file] for file in files]

    def _test(self) -> tuple[list[FileResult], dict[str, CaseResult], list[DeviceObservation]]:
        """The tests on the head, on the base where there is one, and what that comes to."""
        if self._base is None:
            results = self._run(self._head, self._head, "head", record=True)
            facts = observations.barriers(self._witness, results, set())
            return results, {}, facts + self._order_dependent(results, self._head)
        before_results = self._run(self._base, self._base, "base", record=True)
        # The base's tests judge: a change cannot clear itself by changing them.
        judged = self._run(self._head, self._base, "head", record=True)
        own_files = {file: ops for file, ops in self._head.tests.items() if self._is_changed(file)}
        own_results = self._run_some(self._head, self._head, own_files, "own")
        before, after = cases_by_test(before_results), cases_by_test(judged)
        own = cases_by_test(own_results)
        races = self._order_dependent(judged, self._base)
        racing = {fact.test for fact in races}
        stable = {test: case for test, case in after.items() if test not in racing}
        facts = observations.broken_tests(self._witness, before, stable, own)
        facts += [fact for fact in races if before[fact.test].outcome == PASSED]
        facts += observations.failing_new_tests(self._witness, before, own)
        known = {op for result in before_results for op in result.barriers}
        facts += observations.barriers(self._witness, judged, known)
        added = [result for result in own_results if result.file not in self._base.tests]
        return [*judged, *added], before, facts

    def _order_dependent(
        self, results: list[FileResult], tests: SideBuild
    ) -> list[DeviceObservation]:
        """Tests that failed and pass when the threads run in descending order."""
        files = {}
        for result in results:
            if any(case.outcome == FAILED and not case.is_cut_off for case in result.cases):
                files[result.file] = tests.tests[result.file]
        again = self._run_some(self._head, tests, files, "again", 1)
        return observations.order_dependent_tests(self._witness, {0: results, 1: again}, set())

    def _is_changed(self, path: str) -> bool:
        return self._change.changed(path) is not None

    def _compare(self, head_results: list[FileResult]) -> list[DeviceObservation]:
        """Several schedules, sanitizers, and the calls of the tests made again."""
        tests = self._base or self._head
        by_seed = {0: head_results}
        for seed in SCHEDULES[1:]:
            by_seed[seed] = self._run(self._head, tests, "head", seed)
        known_races: set[str] = set()
        known_errors: set[str] = set()
        races = observations.order_dependent_tests(self._witness, by_seed, set())
        if self._base is not None and races:
            known_races = self._races_of_base({_file_of(fact.test) for fact in races})
            races = [fact for fact in races if fact.test not in known_races]
        facts = races
        facts += self._replay()
        facts += self._compare_siblings()
        facts += self._vary_against_base()
        self._comparisons += comparisons.with_tests("tests", head_results, tests.tests)
        self._comparisons += comparisons.with_copies(self._siblings)
        errors = self._sanitized(HEAD, tests.tests)
        self._comparisons += comparisons.with_tests("sanitizers", errors, tests.tests)
        wrong = [result.file for result in errors if result.sanitizers]
        if self._base is not None and wrong:
            found = self._sanitized(BASE, wrong)
            known_errors = {error.text for result in found for error in result.sanitizers}
        seen = observations.sanitizer_errors(self._witness, errors, known_errors)
        return [*facts, *seen, *([] if seen else self._watch_variations())]

    def _races_of_base(self, files: Iterable[str]) -> set[str]:
        """The tests in some files that depend on the order of threads without the change too."""
        base = self._base
        assert base is not None
        chosen = {file: base.tests[file] for file in sorted(files)}
        by_seed = {seed: self._run_some(base, base, chosen, "races", seed) for seed in SCHEDULES}
        facts = observations.order_dependent_tests(self._witness, by_seed, set())
        return {fact.test for fact in facts}

    def _sanitized(self, side: str, files: Iterable[str]) -> list[FileResult]:
        """The test files that judge, on what the sanitizers watch of a side."""
        plain = self._head if side == HEAD else self._base
        assert plain is not None
        build = self._build_as(side, plain, "sanitized")
        tests = self._base or self._head
        chosen = {file: tests.tests[file] for file in files}
        return self._run_some(build, tests, chosen, f"sanitized-{side}")

    def _replay(self) -> list[DeviceObservation]:
        """The recorded calls under all schedules, and head's results against base's."""
        calls = self._calls = self._collect_calls("head" if self._base is None else "base")
        against, known = "", set()
        if self._base is not None:
            events = self._replay_side(self._base, calls, "base", "")
            known = {str(event["op"]) for event in events if event["event"] == "race"}
            against = str(self._workspace.folder / "jobs" / "replay-base" / "out" / "results")
        events = self._replay_side(self._head, calls, "head", against)
        self._comparisons += comparisons.with_replays("schedules", "call", "race", events)
        self._comparisons += comparisons.with_replays("base", "against", "changed", events)
        races = [event for event in events if event["event"] == "race"]
        facts = observations.replayed(self._witness, ObservationKind.RACE, races, known)
        if against and promises_same_results(self._change.pull):
            changed = [event for event in events if event["event"] == "changed"]
            kind = ObservationKind.CHANGED_RESULT
            told = observations.replayed(self._witness, kind, changed, known)
            self._told = {fact.op for fact in told}
            facts += told
        return facts

    def _vary_against_base(self) -> list[DeviceObservation]:
        """Base's and head's results on inputs made of the recorded ones, and on those that show
        how the copies are called: what differs is a question, since no caller shows that very
        input."""
        if self._base is None or not promises_same_results(self._change.pull):
            return []
        results = with_base(
            self._workspace,
            self._head,
            self._base,
            self._calls,
            lambda op: self._tick(f"base: {op.op}"),
        )
        self._comparisons += comparisons.with_variations("base-varied", results)
        facts = observations.varied(self._witness, [r for r in results if r.op not in self._told])
        self._told |= {result.op for result in results if result.is_different}
        return facts

    def _watch_variations(self) -> list[DeviceObservation]:
        """The same inputs where the sanitizers watch both sides: of an op whose results are the
        same as before, it may read what is not its own."""
        if self._base is None or not promises_same_results(self._change.pull):
            return []
        results = with_base(
            self._workspace,
            self._build_as(HEAD, self._head, "sanitized"),
            self._build_as(BASE, self._base, "sanitized"),
            self._calls,
            lambda op: self._tick(f"sanitized: {op.op}"),
            self._told,
        )
        self._comparisons += comparisons.with_variations("sanitizers-varied", results)
        return observations.watched(self._witness, results)

    def _compare_siblings(self) -> list[DeviceObservation]:
        """Ops and their copies for other hardware, on the calls that the tests of both show."""
        copies = self._copies(self._head, Side.HEAD)
        if not copies:
            return []
        earlier = self._copies(self._base, Side.BASE)
        shown = self._build_copies(BASE, earlier)
        builds = self._build_copies(HEAD, copies, with_tests=shown is None)
        recording = shown or builds
        assert recording is not None and builds is not None
        self._run(recording, recording, COPIES, record=True)
        own_label = "head" if self._base is None else "base"
        calls = self._calls = self._collect_calls(own_label, COPIES)
        self._siblings = self._run_siblings(HEAD, self._head, builds, copies, calls)
        before = None
        # Only where the head's sides differ does it matter whether the base's did.
        differing = {item.op for item in self._siblings if item.is_different}
        if self._base is not None:
            earlier = [item for item in earlier if item.op in differing]
            before = self._run_siblings(BASE, self._base, shown, earlier, calls)
        by_path = {(item.op, item.path): item for item in copies}
        return parted(self._witness, by_path, self._siblings, before)

    def _copies(self, build: SideBuild | None, side: Side) -> list[OpCopy]:
        if build is None:
            return []
        finder = CopyFinder(self._change, self._request.config, side)
        copies: dict[tuple[str, str], OpCopy] = {}
        for source in build.sources:
            for op in source.ops:
                # An op may be registered by two sources.
                copies |= {(op, item.path): item for item in finder.copies_of(op, source.path)}
        return list(copies.values())

    def _build_copies(
        self, side: str, copies: Sequence[OpCopy], *, with_tests: bool = True
    ) -> SideBuild | None:
        files = sorted({path for item in copies for path in item.files})
        if not files:
            return None
        self._tick(f"{side}: {len(files)} of copies")
        label = "build-copies"
        return build_side(self._workspace, side, files, label=label, with_tests=with_tests)

    def _run_siblings(
        self,
        side: str,
        own: SideBuild,
        copies: SideBuild | None,
        items: Sequence[OpCopy],
        calls: Path,
    ) -> list[SiblingResult]:
        if copies is None:
            return []
        plan = SiblingPlan(self._workspace, side, own, copies, calls)
        return compare_all(plan, items, lambda item: self._tick(f"{side}: {item.op}"))

    def _collect_calls(self, *labels: str) -> Path:
        """All calls that the runs with these labels recorded, in one folder."""
        folder = self._workspace.folder / f"calls-{'-'.join(labels)}"
        folder.mkdir()
        for label in labels:
            for job in sorted((self._workspace.folder / "jobs").glob(f"{label}-0-*")):
                for path in sorted((job / "out" / "calls").glob("*.npz")):
                    if path.is_file() and not path.is_symlink():
                        shutil.copyfile(path, folder / f"{job.name}-{path.name}")
        return folder

    def _replay_side(self, build: SideBuild, calls: Path, side: str, against: str) -> list[Json]:
        folder = self._workspace.job(f"replay-{side}")
        self._tick(f"replay: {side}")
        job: Json = {
            "action": "replay",
            "calls": str(calls),
            "ops": sorted({op for source in build.sources for op in source.ops}),
            "runtime": build.runtime,
            "libraries": build.libraries,
            "modules": build.module_libraries,
            "seeds": list(SCHEDULES),
            "results": str(folder / "out" / "results"),
            "against": against,
        }
        return list(run_job(job, folder, _REPLAY_SILENCE).events)

    def _cover(self) -> tuple[CoveredLines, ...]:
        build = self._build_as(HEAD, self._head, "covered")
        self._run(build, self._base or self._head, "covered")
        return covered_lines(self._workspace, build)

    def _mutate(
        self, lines: Sequence[CoveredLines], results: Sequence[FileResult]
    ) -> list[MutantResult]:
        """Mistakes in the lines that the tests reach, and whether they notice them."""
        tests = self._base or self._head
        before = cases_by_test(results)
        # A mistake that makes the code loop is noticed when it takes much longer than the tests.
        slowest = max((sum(case.seconds for case in r.cases) for r in results), default=0.0)
        longest = min(self._request.longest, _LEAST_TIME + 10 * slowest)
        judged: list[MutantResult] = []
        for chosen in mutants.choose(self._change, lines, alone=self._request.alone):
            self._tick(f"mutants: {chosen[0].path}")
            judged += mutants.judge(self._workspace, self._head, tests, chosen, before, longest)
        return judged

    def _untested(self, lines: Sequence[CoveredLines]) -> list[DeviceObservation]:
        facts = []
        for path, start, end in changed_lines(self._change, lines):
            count = end - start + 1
            witness, kind = self._witness, ObservationKind.UNTESTED_LINE
            ops = next((s.ops for s in self._head.sources if s.path == path), ())
            facts.append(witness.observe(kind, ops, "", str(count), at=(path, start)))
        return facts


def _file_of(test: str) -> str:
    return test.partition("::")[0]
