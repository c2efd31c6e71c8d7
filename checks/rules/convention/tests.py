"""## What it does

Product code changed and no test did: the description must say why. Asked only where the target's
template speaks of tests. Names the changed files, and tests that already mention what changed, as
places to add one.

## Why it matters

PaddlePaddle/FastDeploy's template asks for "the reason in this PR if no unit tests". A kernel's
contract that no test holds is the one the next change breaks: #7884 repacked a message word, and
the tests of its reader were found by CI.

## Example

    ops/save_output.cc changed, nothing under tests/, and no word on tests in the description

## Known limits

A changed test counts whatever it tests; `protocol.untested-change` asks whether it exercises the
change. A reason is recognised by its words (a sentence on tests with "no", "covered", "existing",
"because", and their Chinese), not understood.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Severity
from checks.rules.convention._draft import Draft, draft

ID = "convention.tests"

MOST_PLACES = 3
MOST_FUNCTIONS = 5


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for the whole change."""
    if not change.pull.known:
        return
    written = draft(change, config)
    if not written.template.asks_for_tests or written.tests or not written.sources:
        return
    if written.reason_for_no_tests:
        return
    files = tuple(f.path for f in written.sources)
    args = {"files": files[:8], "count": len(files), "places": tuple(_places(written))}
    yield Finding(
        rule=ID,
        severity=Severity.CONVENTION,
        confidence=Confidence.HIGH,
        location=Location("", 0),
        message=Message("no-tests", args),
        subject=" ".join(files),
    )


def _places(written: Draft) -> Iterator[str]:
    """Test files that mention changed functions, the ones that mention most first."""
    mentions: dict[str, int] = {}
    found = written.facts.functions
    names = dict.fromkeys(f.name.rpartition(".")[2].rpartition("::")[2] for f in found)
    for name in [n for n in names if not n.startswith("__")][:MOST_FUNCTIONS]:
        for path in written.change.head.paths_containing(name):
            if written.config.is_test(path):
                mentions[path] = mentions.get(path, 0) + 1
    yield from sorted(mentions, key=lambda p: (-mentions[p], p))[:MOST_PLACES]
