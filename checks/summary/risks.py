"""What can go wrong: the review's findings, and defects in code that the change first calls."""

from __future__ import annotations

from collections.abc import Iterable

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Finding, Severity
from checks.domain.ops import Ops
from checks.lang.source import language
from checks.registry import RULES
from checks.review import Review
from checks.summary.changes.call_changes import find_newly_called, hardware
from checks.summary.model import Risk

_MOST_FILES = 12


def collect_risks(review: Review, in_callees: Iterable[Finding]) -> tuple[Risk, ...]:
    """The open findings of the review, and after them those in code that it newly calls."""
    own = []
    for finding in review.findings:
        if finding.severity is not Severity.CONVENTION and not finding.answered:
            own.append(finding)
    known = {finding.fingerprint for finding in own}
    risks = [Risk(finding) for finding in own]
    for finding in in_callees:
        if finding.fingerprint not in known:
            risks.append(Risk(finding, reached=True))
    return tuple(risks)


def risks_in_callees(change: ChangeSet, config: Config) -> tuple[Finding, ...]:
    """What the device rules find in code that the change newly calls.

    They run as if the change had added the files of those ops.
    """
    paths = [path for path in files_first_called(change, config) if change.changed(path) is None]
    if not paths:
        return ()
    with_callees = change.as_if_added(paths)
    findings = []
    for rule in RULES:
        if not rule.ID.startswith("kernel.") or rule.ID in config.rules.disable:
            continue
        for finding in rule.run(with_callees, config):
            if not finding.pedantic and finding.location.path in paths:
                findings.append(finding)
    findings.sort(key=lambda finding: finding.sort_key)
    return tuple(findings)


def files_first_called(change: ChangeSet, config: Config) -> list[str]:
    """Device files behind the ops that the change calls for the first time in a file."""
    ops = Ops.of(change)
    paths: dict[str, None] = {}
    for name, caller in find_newly_called(change, config):
        kind = hardware(caller, config)
        for op in ops.named(name):
            path = op.function.path if op.function is not None else op.unit.path
            # A caller for one hardware does not reach the op of another.
            if kind and config.hardware_of(path) not in ("", kind):
                continue
            paths.update(dict.fromkeys(_files_of_op(name, path, change, config)))
    nearest = list(paths)[:_MOST_FILES]
    return [path for path in nearest if language(path) == "cpp"]


def _files_of_op(name: str, path: str, change: ChangeSet, config: Config) -> list[str]:
    """The op's own file, and those that define a function of the same name for its hardware.

    A wrapper and its kernel often share a name.
    """
    paths = [path]
    kind = config.hardware_of(path)
    for other in change.head.paths_containing(name, "cpp"):
        if other == path or config.is_test(other) or config.hardware_of(other) != kind:
            continue
        unit = change.unit(other)
        if unit is not None and unit.named(name):
            paths.append(other)
    return paths
