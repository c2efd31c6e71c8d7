"""Which of the rules about calls speaks where several have something to say about one line.

A call with a wrong argument list also returns something else, and may be imported for some hardware
only: one finding a line is enough, by the rule that comes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from checks.core.change import ChangeSet
from checks.core.check import Check
from checks.core.config import Config
from checks.core.finding import Finding


def one_per_line(
    findings: Iterable[Finding],
    change: ChangeSet,
    config: Config,
    earlier_rules: tuple[Check, ...] = (),
) -> Iterator[Finding]:
    """The first finding of each line on which none of `earlier_rules` says anything."""
    all_findings = list(findings)
    if not all_findings:
        return
    reported: set[tuple[str, int]] = set()
    for rule in earlier_rules:
        for finding in rule.run(change, config):
            places = [finding.location, *(other.location for other in finding.related)]
            reported.update((place.path, place.start_line) for place in places)
    for finding in all_findings:
        line = _line(finding)
        if line not in reported:
            reported.add(line)
            yield finding


def _line(finding: Finding) -> tuple[str, int]:
    return finding.location.path, finding.location.start_line
