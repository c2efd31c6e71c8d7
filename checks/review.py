"""A change set through every rule, to one review."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from checks.core.change import ChangeSet
from checks.core.check import Check
from checks.core.config import Config
from checks.core.finding import Confidence, Edit, Finding, Fix, Severity
from checks.lang.source import LARGEST, language
from checks.registry import RULES


class Verdict(StrEnum):
    """What the findings come to: `BLOCK` with a bug, `DISCUSS` with a suggestion or open question,
    else `PASS`.
    """

    BLOCK = "block"
    DISCUSS = "discuss"
    PASS = "pass"


@dataclass(frozen=True, slots=True)
class Review:
    """The outcome: findings in report order, and the changed files that could not be analysed, with
    the reason.
    """

    change: ChangeSet
    config: Config
    findings: tuple[Finding, ...]
    not_analysed: tuple[tuple[str, str], ...]

    @property
    def verdict(self) -> Verdict:
        kinds = {f.severity for f in self.findings if not f.answered}
        if Severity.BUG in kinds:
            return Verdict.BLOCK
        return Verdict.DISCUSS if kinds - {Severity.CONVENTION} else Verdict.PASS


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
    for check in RULES if rules is None else rules:
        if check.ID in config.rules.disable:
            continue
        progress(check.ID)
        findings += _run(check, change, config, pedantic=pedantic)
    ordered = sorted(findings, key=lambda f: f.sort_key)
    unique = {(f.fingerprint, f.location): f for f in ordered}
    return Review(change, config, tuple(unique.values()), tuple(_not_analysed(change)))


def _run(check: Check, change: ChangeSet, config: Config, *, pedantic: bool) -> list[Finding]:
    """What one rule finds, with unproved fixes taken off."""
    reported = list(check.run(change, config))
    before = Counter(f.fingerprint for f in reported)
    shown = [f for f in reported if pedantic or not f.pedantic]
    return [_settle(f, check, change, config, before) for f in shown]


def _settle(
    finding: Finding, check: Check, change: ChangeSet, config: Config, before: Counter[str]
) -> Finding:
    """Lower the claim where the code around it did not parse; keep a fix only when it is proved to
    work.
    """
    unit = change.unit(finding.location.path, finding.location.side)
    function = unit.function_at(finding.location.start_line) if unit else None
    if function is not None and not function.clean:
        severity = Severity.QUESTION if finding.severity is Severity.BUG else finding.severity
        finding = replace(finding, unparsed=True, confidence=Confidence.LOW, severity=severity)
    if finding.fix is None:
        return finding
    fixed = verify(finding, finding.fix, check, change, config, before)
    return finding.with_fix(replace(finding.fix, verified=True) if fixed else None)


def verify(
    finding: Finding,
    fix: Fix,
    check: Check,
    change: ChangeSet,
    config: Config,
    before: Counter[str],
) -> bool:
    """Whether `fix`, applied to the head tree, makes `finding` go away and brings nothing new of
    this rule.

    `before` counts the rule's findings without the fix, by fingerprint: the same claim may stand
    twice in a function.
    """
    try:
        after = change.with_files(apply(fix.edits, change))
    except ValueError:
        return False
    left = Counter(f.fingerprint for f in check.run(after, config))
    return left[finding.fingerprint] < before[finding.fingerprint] and left <= before


def apply(edits: Iterable[Edit], change: ChangeSet) -> dict[str, bytes]:
    """The head files that `edits` change, with the edits made; raises ValueError on a line that is
    not there.
    """
    texts: dict[str, list[str]] = {}
    for edit in sorted(edits, key=lambda e: (e.path, -e.start_line)):
        lines = texts.get(edit.path)
        if lines is None:
            data = change.head.read(edit.path)
            if data is None:
                raise ValueError(edit.path)
            lines = texts[edit.path] = data.decode("utf-8", "surrogateescape").split("\n")
        if not 1 <= edit.start_line <= edit.end_line <= len(lines):
            raise ValueError(f"{edit.path}:{edit.start_line}")
        ending = "\r" if lines[edit.start_line - 1].endswith("\r") else ""
        lines[edit.start_line - 1 : edit.end_line] = [line + ending for line in edit.lines]
    return {
        path: "\n".join(lines).encode("utf-8", "surrogateescape") for path, lines in texts.items()
    }


def _not_analysed(change: ChangeSet) -> Iterable[tuple[str, str]]:
    """(path, reason) of changed source that no rule could read."""
    for file in change.files:
        if file.head_path is None or not language(file.head_path) or file.mode != "file":
            continue
        data = change.head.read(file.head_path)
        unit = change.unit(file.head_path)
        if data is None:
            continue
        if unit is None:
            yield file.head_path, "too-large" if len(data) > LARGEST else "binary"
        elif any(
            unit.is_broken(h.head_start, h.head_start + h.head_len - 1)
            for h in file.hunks
            if h.head_len
        ):
            yield file.head_path, "syntax"
