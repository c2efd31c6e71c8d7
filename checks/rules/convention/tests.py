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

from collections import Counter
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Severity
from checks.rules.convention._draft import Draft, draft

ID = "convention.tests"

MOST_FILES = 8
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
    args = {"files": files[:MOST_FILES], "count": len(files), "places": tuple(_places(written))}
    yield Finding(
        rule=ID,
        severity=Severity.CONVENTION,
        confidence=Confidence.HIGH,
        location=Location("", 0),
        message=Message("no-tests", args),
        subject=" ".join(files),
    )


def _places(written: Draft) -> list[str]:
    """Test files that mention changed functions, the ones that mention most first."""
    mentions: Counter[str] = Counter()
    for name in _names_of_changed_functions(written)[:MOST_FUNCTIONS]:
        for path in written.change.head.paths_containing(name):
            if written.config.is_test(path):
                mentions[path] += 1
    return sorted(mentions, key=lambda path: (-mentions[path], path))[:MOST_PLACES]


def _names_of_changed_functions(written: Draft) -> list[str]:
    """Their plain names, each once, without `__init__` and its like."""
    names: dict[str, None] = {}
    for function in written.facts.functions:
        name = function.name.rpartition(".")[2].rpartition("::")[2]
        if not name.startswith("__"):
            names[name] = None
    return list(names)
