"""A change set through every rule, to one review."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum

from checks.core.change import ChangeSet, FileChange
from checks.core.check import Check
from checks.core.config import Config
from checks.core.finding import Confidence, Edit, Finding, Fix, Severity
from checks.core.rule_ids import former_id
from checks.core.vendored import vendored_paths
from checks.lang.ir.source_file import SourceFile
from checks.lang.source import LARGEST, language
from checks.registry import RULES

# Each runs a rule once more; a person takes over a few suggestions, not hundreds.
_MOST_PROOFS = 50


class ReviewVerdict(StrEnum):
    """What the findings come to.

    `BLOCK` with a bug, `DISCUSS` with a suggestion or an open question, else `PASS`.
    """

    BLOCK = "block"
    DISCUSS = "discuss"
    PASS = "pass"


@dataclass(frozen=True, slots=True)
class Review:
    """The outcome.

    Findings are in report order; `not_analysed` are the changed files that could not be analysed,
    each with the reason (`too-large`, `too-much`, `binary`, `syntax`).
    """

    change: ChangeSet
    config: Config
    findings: tuple[Finding, ...]
    not_analysed: tuple[tuple[str, str], ...]

    @property
    def verdict(self) -> ReviewVerdict:
        severities = {finding.severity for finding in self.findings if not finding.answered}
        if Severity.BUG in severities:
            return ReviewVerdict.BLOCK
        return ReviewVerdict.DISCUSS if severities - {Severity.CONVENTION} else ReviewVerdict.PASS


def review(
    change: ChangeSet,
    config: Config,
    rules: Iterable[Check] | None = None,
    *,
    pedantic: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> Review:
    """Run `rules`, or all of them, over `change`; `progress` is told the id of each as it begins.

    Findings come deduplicated by fingerprint and place, ordered by severity, rule and place.
    """
    findings: list[Finding] = []
    proofs = _Proofs(change, config)
    foreign = vendored_paths(change)
    for rule in RULES if rules is None else rules:
        if rule.ID in config.rules.disable:
            continue
        progress(rule.ID)
        for finding in _run_rule(rule, proofs, pedantic=pedantic):
            if finding.location.path not in foreign:
                findings.append(finding)
    findings.sort(key=lambda finding: finding.sort_key)
    # A rule may come to the same claim at the same place in two ways.
    unique = {(finding.fingerprint, finding.location): finding for finding in findings}
    told_once = _merge_same_cause(unique.values())
    return Review(change, config, told_once, tuple(_not_analysed(change)))


def _merge_same_cause(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings, each sentence once a file: the first place has it, and points to the others.

    A header that packs the same field thirty times is asked about once. A bug is told wherever it
    strikes: each of its places has to be mended.
    """
    groups: dict[object, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(_cause(finding), []).append(finding)
    return tuple(first.with_other_places(*others) for first, *others in groups.values())


def _cause(finding: Finding) -> object:
    """What findings with one cause in one file have in common."""
    # What a fix mends, and whether it was proved, is each place's own.
    if finding.fix is not None or finding.severity is Severity.BUG:
        return finding.fingerprint, finding.location
    # The arguments of a message are a mapping, which has no hash.
    claim = repr((finding.message, finding.evidence))
    return finding.rule, finding.location.path, finding.level, claim


def _run_rule(rule: Check, proofs: _Proofs, *, pedantic: bool) -> list[Finding]:
    """What one rule finds, with fixes that were not proved taken off."""
    findings: list[Finding] = []
    for finding in rule.run(proofs.change, proofs.config):
        if finding.pedantic and not pedantic:
            continue
        finding = _lower_claim_where_unparsed(finding, proofs.change)
        findings.append(_keep_fix_if_proved(finding, rule, proofs))
    return findings


def _lower_claim_where_unparsed(finding: Finding, change: ChangeSet) -> Finding:
    """The finding, as a question at most where the function around it did not parse."""
    unit = change.unit(finding.location.path, finding.location.side)
    function = unit.function_at(finding.location.start_line) if unit is not None else None
    if function is None or function.clean:
        return finding
    severity = finding.severity
    if severity is Severity.BUG:
        severity = Severity.QUESTION
    return replace(finding, unparsed=True, confidence=Confidence.LOW, severity=severity)


def _keep_fix_if_proved(finding: Finding, rule: Check, proofs: _Proofs) -> Finding:
    # A rule that follows the patched code has proved its fix, at less than another run over all.
    if finding.fix is None or finding.fix.verified:
        return finding
    if not proofs.is_proved(finding, finding.fix, rule):
        return finding.with_fix(None)
    return finding.with_fix(replace(finding.fix, verified=True))


@dataclass
class _Proofs:
    """Proves fixes of one change: each runs the rule over the whole change once more."""

    change: ChangeSet
    config: Config
    made: int = 0
    before: dict[str, Counter[str]] = field(default_factory=dict)

    def is_proved(self, finding: Finding, fix: Fix, rule: Check) -> bool:
        """Whether `fix`, applied to the head tree, makes `finding` go away and brings no new one;
        no where too many were asked for."""
        self.made += 1
        if self.made > _MOST_PROOFS:
            return False
        try:
            fixed = self.change.with_files(apply(fix.edits, self.change))
        except ValueError:
            return False
        if rule.ID not in self.before:
            self.before[rule.ID] = _fingerprints(rule, self.change, self.config)
        before = self.before[rule.ID]
        after = _fingerprints(rule, fixed, self.config)
        is_gone = after[finding.fingerprint] < before[finding.fingerprint]
        return is_gone and after <= before


def _fingerprints(rule: Check, change: ChangeSet, config: Config) -> Counter[str]:
    """How often each claim is made by `rule`, and by the rules that once were one with it.

    They are counted, because the same claim may stand twice in a function.
    """
    counts: Counter[str] = Counter()
    siblings = [other for other in RULES if former_id(other.ID) == former_id(rule.ID)]
    for sibling in siblings or [rule]:
        counts.update(finding.fingerprint for finding in sibling.run(change, config))
    return counts


def apply(edits: Iterable[Edit], change: ChangeSet) -> dict[str, bytes]:
    """The head files that `edits` change, with the edits made.

    Raises ValueError on a file or line that is not there.
    """
    files: dict[str, list[str]] = {}
    # From the end of a file to its start: an edit may move the lines behind it.
    for edit in sorted(edits, key=lambda edit: (edit.path, -edit.start_line)):
        if edit.path not in files:
            data = change.head.read(edit.path)
            if data is None:
                raise ValueError(edit.path)
            files[edit.path] = data.decode("utf-8", "surrogateescape").split("\n")
        lines = files[edit.path]
        if not 1 <= edit.start_line <= edit.end_line <= len(lines):
            raise ValueError(f"{edit.path}:{edit.start_line}")
        line_end = "\r" if lines[edit.start_line - 1].endswith("\r") else ""
        lines[edit.start_line - 1 : edit.end_line] = [line + line_end for line in edit.lines]
    edited: dict[str, bytes] = {}
    for path, lines in files.items():
        edited[path] = "\n".join(lines).encode("utf-8", "surrogateescape")
    return edited


def _not_analysed(change: ChangeSet) -> Iterator[tuple[str, str]]:
    """(path, reason) of changed source that no rule could read."""
    for file in change.files:
        path = file.head_path
        if path is None or not language(path) or file.mode != "file":
            continue
        data = change.head.read(path)
        if data is None:
            continue
        unit = change.unit(path)
        if path in change.left_out:
            yield path, "too-much"
        elif unit is None:
            yield path, "too-large" if len(data) > LARGEST else "binary"
        elif _is_broken_where_changed(unit, file):
            yield path, "syntax"


def _is_broken_where_changed(unit: SourceFile, file: FileChange) -> bool:
    for hunk in file.hunks:
        last = hunk.head_start + hunk.head_len - 1
        if hunk.head_len and unit.is_broken(hunk.head_start, last):
            return True
    return False
