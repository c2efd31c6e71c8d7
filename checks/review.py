"""A change set through every rule, to one review."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from checks.core.change import ChangeSet, FileChange
from checks.core.check import Check
from checks.core.config import Config
from checks.core.finding import Confidence, Edit, Finding, Fix, Severity
from checks.core.rule_ids import former_id
from checks.lang.ir.source_file import SourceFile
from checks.lang.source import LARGEST, language
from checks.registry import RULES


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
    each with the reason (`too-large`, `binary`, `syntax`).
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
    for rule in RULES if rules is None else rules:
        if rule.ID in config.rules.disable:
            continue
        progress(rule.ID)
        findings += _run_rule(rule, change, config, pedantic=pedantic)
    findings.sort(key=lambda finding: finding.sort_key)
    # A rule may come to the same claim at the same place in two ways.
    unique = {(finding.fingerprint, finding.location): finding for finding in findings}
    return Review(change, config, tuple(unique.values()), tuple(_not_analysed(change)))


def _run_rule(rule: Check, change: ChangeSet, config: Config, *, pedantic: bool) -> list[Finding]:
    """What one rule finds, with fixes that were not proved taken off."""
    findings: list[Finding] = []
    for finding in rule.run(change, config):
        if finding.pedantic and not pedantic:
            continue
        finding = _lower_claim_where_unparsed(finding, change)
        findings.append(_keep_fix_if_proved(finding, rule, change, config))
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


def _keep_fix_if_proved(
    finding: Finding, rule: Check, change: ChangeSet, config: Config
) -> Finding:
    if finding.fix is None:
        return finding
    if not _is_proved(finding, finding.fix, rule, change, config):
        return finding.with_fix(None)
    return finding.with_fix(replace(finding.fix, verified=True))


def _is_proved(
    finding: Finding,
    fix: Fix,
    rule: Check,
    change: ChangeSet,
    config: Config,
) -> bool:
    """Whether `fix`, applied to the head tree, makes `finding` go away and brings no new one."""
    try:
        fixed = change.with_files(apply(fix.edits, change))
    except ValueError:
        return False
    before = _fingerprints(rule, change, config)
    after = _fingerprints(rule, fixed, config)
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
        if unit is None:
            yield path, "too-large" if len(data) > LARGEST else "binary"
        elif _is_broken_where_changed(unit, file):
            yield path, "syntax"


def _is_broken_where_changed(unit: SourceFile, file: FileChange) -> bool:
    for hunk in file.hunks:
        last = hunk.head_start + hunk.head_len - 1
        if hunk.head_len and unit.is_broken(hunk.head_start, last):
            return True
    return False
