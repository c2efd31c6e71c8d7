"""## What it does

Reads the check boxes of the target's template in the description: boxes that are not ticked though
they ask something of this change, boxes that were deleted, and boxes whose tick the change
contradicts (tests, the title's tag, accuracy results, the original of a cherry-pick). The
description to paste ticks only what the facts prove, and keeps what the author ticked where nothing
speaks against it.

## Why it matters

A checklist is only worth reading if ticks are true. PaddlePaddle/FastDeploy#7884 and #7600 left
every box open.

## Example

    - [ ] Add unit tests. Please write the reason in this PR if no unit tests.   product code changed
    - [x] Provide accuracy results.                                         that section is empty

## Known limits

Boxes count as GitHub renders them (`- [ ]`, `- [x]`), not `•` of a copied page. A box whose words
match none of the known kinds is only ever reported as open. Whether the code was formatted is not
checked.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Severity
from checks.rules.convention._body import propose
from checks.rules.convention._boxes import Claim, Kind, claims
from checks.rules.convention._draft import draft

ID = "convention.checklist"

_AGAINST = {
    Kind.TESTS: "ticked-tests",
    Kind.TAG: "ticked-tag",
    Kind.ACCURACY: "ticked-accuracy",
    Kind.RELEASE: "ticked-release",
}


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding with everything that is wrong with the boxes."""
    if not change.pull.known:
        return
    written = draft(change, config)
    found = claims(written)
    problems = tuple(_problems(found))
    if not problems:
        return
    yield Finding(
        rule=ID,
        severity=Severity.CONVENTION,
        confidence=Confidence.HIGH,
        location=Location("", 0),
        message=Message("boxes", {"problems": problems, "body": propose(written)}),
        subject=" ".join(p.key for p in problems),
    )


def _problems(found: list[Claim]) -> Iterator[Message]:
    present = [c for c in found if c.ticked is not None]
    if found and not present:
        yield Message("no-boxes", {"count": len(found)})
        return
    if present and not any(c.ticked for c in present):
        yield Message("none-ticked", {"count": len(present)})
    else:
        still = tuple(c.text for c in present if c.applies and not c.ticked)
        if still:
            yield Message("open", {"boxes": still})
    gone = tuple(c.text for c in found if c.ticked is None)
    if gone:
        yield Message("gone", {"boxes": gone})
    for claim in present:
        if claim.ticked and claim.proved is False and claim.kind in _AGAINST:
            yield Message(_AGAINST[claim.kind])
