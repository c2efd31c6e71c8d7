"""What a check says: findings, their evidence and their fixes.

Nothing here holds a sentence for people: a message is a key with arguments, and `templates/` turns
it into Chinese or English.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from checks.core.rule_ids import former_id

# The form of `Finding.fingerprint`; no rule has an id of this form.
FINGERPRINT = re.compile(r"[0-9a-f]{16}")


class Severity(StrEnum):
    """How a finding is to be taken.

    `BUG` is proved or predicted; what rests on a heuristic is a `QUESTION`.
    """

    BUG = "bug"
    SUGGESTION = "suggestion"
    QUESTION = "question"
    CONVENTION = "convention"


class Confidence(StrEnum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Side(StrEnum):
    """Which tree a line number counts in: `HEAD` is GitHub's RIGHT, `BASE` its LEFT."""

    HEAD = "head"
    BASE = "base"


@dataclass(frozen=True, slots=True)
class Message:
    """Key into `templates/rules/<rule id>.toml`, with the arguments of its sentence."""

    key: str
    args: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Location:
    """A place in one tree.

    Lines count from 1 and `end_line` is included; line 0 means the whole file.
    """

    path: str
    start_line: int
    end_line: int = 0
    side: Side = Side.HEAD

    def __post_init__(self) -> None:
        # The end may be left out for one line; a frozen class is set like this.
        if self.end_line < self.start_line:
            object.__setattr__(self, "end_line", self.start_line)


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A model from the solver that shows a bug: one row for each packed field."""

    rows: tuple[CounterexampleRow, ...]
    packed: int | None = None
    expression: str = ""


@dataclass(frozen=True, slots=True)
class CounterexampleRow:
    """A field of a packed word: the value put in and the value that comes out."""

    field: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class PredictedFailure:
    """A test that will fail, and why.

    `expression` evaluates to `value`, which raises `exception` at `raised_at`; `trace` are the
    calls on the way there.
    """

    test: str
    fixture: Location
    expression: str
    value: str
    exception: str
    raised_at: Location
    trace: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sibling:
    """The same thing on other hardware: its function and lines.

    `verdict` says why it matters or why not.
    """

    location: Location
    function: str
    hardware: str
    verdict: Message
    excerpt: str = ""


@dataclass(frozen=True, slots=True)
class Definition:
    """One of several places that define the same constant, layout or meaning.

    `value` is what it defines, `excerpt` the line as written.
    """

    name: str
    location: Location
    value: str
    excerpt: str = ""


@dataclass(frozen=True, slots=True)
class KernelRun:
    """A measured number of a kernel case, on both sides."""

    case: str
    metric: str
    base: float
    head: float
    tolerance: float


@dataclass(frozen=True, slots=True)
class Execution:
    """What device code did when it ran on a CPU.

    `inputs` are names and values of the smallest input that shows it; `schedule` is the number of
    the order in which threads and blocks ran (0 ascending, 1 descending, others are seeds of a
    random order); `command` shows it again offline.
    """

    op: str
    inputs: tuple[tuple[str, str], ...]
    expected: str
    got: str
    schedule: int
    command: str


@dataclass(frozen=True, slots=True)
class PastFailure:
    """The same failure seen elsewhere: `where` is a revision or a pull request."""

    where: str
    what: str


@dataclass(frozen=True, slots=True)
class DerivationStep:
    """One step of a derivation: the code at `location` and what was concluded from it."""

    location: Location
    excerpt: str
    conclusion: Message


@dataclass(frozen=True, slots=True)
class RecordDiff:
    """Two files of logprob records, compared.

    `verdict` is one of `checks.logprobs.compare`; `said` are its reasons and causes, keys of
    `templates/words/comparison.toml`; `safe` says that a baseline may be recorded anew.
    """

    base: str
    head: str
    verdict: str
    safe: bool
    said: tuple[Message, ...]


Evidence = (
    Counterexample
    | PredictedFailure
    | Sibling
    | Definition
    | KernelRun
    | Execution
    | PastFailure
    | RecordDiff
    | DerivationStep
)


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace lines `start_line`..`end_line` of `path` in the head tree.

    `lines` are the new ones, without line ends.
    """

    path: str
    start_line: int
    end_line: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fix:
    """A patch.

    `verified` is set by the review, after the rule was run again on the patched tree, or by a rule
    that has followed the patched code itself.
    """

    edits: tuple[Edit, ...]
    verified: bool = False


@dataclass(frozen=True, slots=True)
class Related:
    """Another place a reader should look at, with a message saying why."""

    location: Location
    message: Message


@dataclass(frozen=True, slots=True)
class Finding:
    """One claim about a change, with the evidence that a reader can check.

    `symbol` is the enclosing function or constant and `subject` the normalised code the claim is
    about; with the rule they make the fingerprint, so that it survives unrelated edits. `pedantic`
    findings show only when asked. `unparsed` says that the enclosing function did not parse
    cleanly. `answered` is a question whose answer the evidence gives: it asks nothing of the
    author, and no verdict counts it.
    """

    rule: str
    severity: Severity
    confidence: Confidence
    location: Location
    message: Message
    symbol: str = ""
    subject: str = ""
    evidence: tuple[Evidence, ...] = ()
    fix: Fix | None = None
    related: tuple[Related, ...] = ()
    pedantic: bool = False
    unparsed: bool = False
    answered: bool = False

    @classmethod
    def at(
        cls,
        rule: str,
        location: Location,
        key: str,
        /,
        *,
        severity: Severity,
        confidence: Confidence,
        symbol: str = "",
        subject: str = "",
        pedantic: bool = False,
        **args: Any,
    ) -> Finding:
        """A finding of `rule` at `location` with the message `key` of the rule's template.

        `args` are the arguments of the message's sentence:

            Finding.at(
                ID,
                Location(unit.path, stmt.line),
                "read-first",
                severity=Severity.SUGGESTION,
                confidence=Confidence.HIGH,
                symbol=function.qualname,
                subject=name,
                name=name,
            )

        Add more with `with_evidence`, `with_related` and `with_fix`. In a loop over
        `changed_functions`, `ChangedFunction.finding` fills in location and symbol.
        """
        return cls(
            rule=rule,
            severity=severity,
            confidence=confidence,
            location=location,
            message=Message(key, args),
            symbol=symbol,
            subject=subject,
            pedantic=pedantic,
        )

    @property
    def fingerprint(self) -> str:
        """16 hex digits, the same for the same claim whatever its line number."""
        # A formatter may have wrapped the code since.
        code = re.sub(r"\s+", "", self.subject)
        # Answers that people gave before a rule was renamed stay with their finding.
        rule = former_id(self.rule)
        text = "\0".join((rule, self.location.path, self.symbol, self.message.key, code))
        return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]

    @property
    def level(self) -> str:
        """What a report calls the finding: its severity, or `answered`."""
        return "answered" if self.answered else str(self.severity)

    @property
    def sort_key(self) -> tuple[int, bool, str, str, int, str, str]:
        """The place of a finding in a report: the worst first, then by rule and place."""
        return (
            list(Severity).index(self.severity),
            self.answered,
            former_id(self.rule),
            self.location.path,
            self.location.start_line,
            self.message.key,
            self.subject,
        )

    def with_fix(self, fix: Fix | None) -> Finding:
        """The same finding with another fix, or with none."""
        return replace(self, fix=fix)

    def with_evidence(self, *evidence: Evidence) -> Finding:
        """The same finding with `evidence` added."""
        return replace(self, evidence=(*self.evidence, *evidence))

    def with_other_places(self, *others: Finding) -> Finding:
        """The same finding, which also says where else its cause strikes: where `others` stand."""
        same = Message("same-cause")
        return self.with_related(*(Related(other.location, same) for other in others))

    def with_related(self, *related: Related) -> Finding:
        """The same finding with other places added that a reader should look at."""
        return replace(self, related=(*self.related, *related))
