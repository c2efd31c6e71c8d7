"""What a run of device code gave: sources, test cases, coverage, findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from checks.core.change import ChangeSet
from checks.core.finding import Finding

PASSED, FAILED, NOT_RUN = "passed", "failed", "not_run"
# Kinds of failure: the process died, or was ended here because it took too long.
PROCESS, TOO_SLOW = "process", "too-slow"


@dataclass(frozen=True, slots=True)
class SourceBuild:
    """One source: its library, or why there is none. `ops` are the ops that it registers.

    `interpreted` says that it needs none: Triton kernels are run by Triton's interpreter.
    `modules` name the Python module that the library is, if it is one.
    """

    path: str
    library: str
    refusal: str
    ops: tuple[str, ...]
    compiled_now: bool
    interpreted: bool = False
    modules: tuple[str, ...] = ()

    @property
    def is_ready(self) -> bool:
        """Whether its ops can be run."""
        return bool(self.library) or self.interpreted


@dataclass(frozen=True, slots=True)
class SideBuild:
    """What was built of one side. `tests` are the ops that each test file imports.

    `helpers` are sources that nobody asked for, of what tests import besides: `needs` by test file.
    """

    name: str
    root: Path
    compiler: str
    runtime: str
    variant: str
    sources: tuple[SourceBuild, ...]
    tests: Mapping[str, tuple[str, ...]]
    helpers: tuple[SourceBuild, ...] = ()
    needs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def _all(self) -> tuple[SourceBuild, ...]:
        return (*self.sources, *self.helpers)

    @property
    def libraries(self) -> dict[str, list[str]]:
        """The ops of each library, by its path."""
        ops: dict[str, list[str]] = {}
        for source in self._all:
            if source.library:
                ops.setdefault(source.library, []).extend(source.ops)
        return ops

    @property
    def modules(self) -> dict[str, str]:
        """The library of each Python module, or nothing where it was not built."""
        return {name: source.library for source in self._all for name in source.modules}

    @property
    def module_libraries(self) -> list[str]:
        """The libraries that are Python modules."""
        return sorted(set(self.modules.values()) - {""})

    @property
    def refusals(self) -> dict[str, str]:
        """Why an op or a module is not there."""
        reasons = {}
        for source in self._all:
            if not source.is_ready:
                names = (*source.ops, *source.modules)
                reasons.update(dict.fromkeys(names, source.refusal))
        return reasons

    def source_of(self, ops: Sequence[str]) -> str:
        """The path of the source that registers one of the ops, or nothing."""
        for source in self.sources:
            if set(source.ops) & set(ops):
                return source.path
        return ""


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One test case of a file. `why` is the assertion's or the device's own text.

    `kind` of a failure: `assertion`, `device`, `PROCESS` or `TOO_SLOW`. `ops` are those of PyTorch
    and Triton that it called.
    """

    file: str
    name: str
    outcome: str
    why: str = ""
    kind: str = ""
    line: int = 0
    seconds: float = 0.0
    ops: tuple[str, ...] = ()

    @property
    def test(self) -> str:
        """As pytest names it."""
        return f"{self.file}::{self.name}"

    @property
    def is_cut_off(self) -> bool:
        """Whether its process ended before it did."""
        return self.kind in (PROCESS, TOO_SLOW)


@dataclass(frozen=True, slots=True)
class CoveredLines:
    """How often each line of a source ran; lines without code are not in it."""

    path: str
    counts: dict[int, int]

    @property
    def reached(self) -> int:
        """The number of lines that ran."""
        return sum(count > 0 for count in self.counts.values())


@dataclass(frozen=True, slots=True)
class MutantResult:
    """A mistake put into one line, and what became of it: `noticed`, `unnoticed`, `not-built`."""

    path: str
    line: int
    before: str
    after: str
    outcome: str


@dataclass(frozen=True, slots=True)
class SanitizerError:
    """An error that a sanitizer saw: what it is, and where in device code."""

    text: str
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class SiblingResult:
    """What came of an op and its copy for other hardware, the file `copy`.

    `why` says why nothing was compared. Recorded calls are in `agreed` (by name) or `differences`;
    `reasons` tell why some were left out. `varied` counts variations of them by their outcome,
    `varied_differences` has the smallest that differs; `error` is what a sanitizer saw last.
    """

    op: str
    copy: str
    why: str = ""
    agreed: tuple[str, ...] = ()
    differences: tuple[dict[str, Any], ...] = ()
    reasons: tuple[str, ...] = ()
    varied: Mapping[str, int] = field(default_factory=dict)
    varied_differences: tuple[dict[str, Any], ...] = ()
    error: SanitizerError | None = None

    @property
    def is_compared(self) -> bool:
        """Whether there was an input on which both gave a result."""
        return bool(self.agreed or self.differences)

    @property
    def is_different(self) -> bool:
        """Whether there was an input on which the results differed."""
        return bool(self.differences or self.varied_differences)


@dataclass(frozen=True, slots=True)
class Comparison:
    """On how many inputs an op was compared, and on how many of them it differed.

    `against`: `tests`, `schedules`, `sanitizers`, `base`, `base-varied` (inputs made of recorded
    ones), `sanitizers-varied` (those under sanitizers), or `copy` with its path in `place`.
    """

    op: str
    against: str
    place: str
    inputs: int
    differed: int


@dataclass(frozen=True, slots=True)
class DeviceReport:
    """What came of a run.

    `head` are the head's builds; `cases` the outcome of each test on the head, `before` on the
    base; `lines` the coverage of changed device code, where it was asked for; `siblings` the ops
    that were compared with their copies for other hardware; `mutants` the mistakes that were put
    into covered lines; `comparisons` what each op was compared with.
    """

    action: str
    change: ChangeSet
    build: SideBuild
    cases: tuple[CaseResult, ...]
    before: Mapping[str, CaseResult]
    findings: tuple[Finding, ...]
    schedules: tuple[int, ...] = (0,)
    lines: tuple[CoveredLines, ...] = ()
    siblings: tuple[SiblingResult, ...] = ()
    mutants: tuple[MutantResult, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
