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

    - [ ] Add unit tests. Please write the reason in this PR if none.   product code changed
    - [x] Provide accuracy results.                                     that section is empty

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
from checks.rules.convention._body import propose_description
from checks.rules.convention._boxes import BoxClaim, BoxKind, box_claims
from checks.rules.convention._draft import draft

ID = "convention.checklist"

# Of a ticked box that the facts contradict.
_CONTRADICTED = {
    BoxKind.TESTS: "ticked-tests",
    BoxKind.TAG: "ticked-tag",
    BoxKind.ACCURACY: "ticked-accuracy",
    BoxKind.RELEASE: "ticked-release",
}


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding with everything that is wrong with the boxes."""
    if not change.pull.known:
        return
    written = draft(change, config)
    problems = tuple(_problems(box_claims(written)))
    if not problems:
        return
    yield Finding(
        rule=ID,
        severity=Severity.CONVENTION,
        confidence=Confidence.HIGH,
        location=Location("", 0),
        message=Message("boxes", {"problems": problems, "body": propose_description(written)}),
        subject=" ".join(p.key for p in problems),
    )


def _problems(claims: list[BoxClaim]) -> Iterator[Message]:
    present = [claim for claim in claims if claim.ticked is not None]
    if not present:
        if claims:
            yield Message("no-boxes", {"count": len(claims)})
        return
    if any(claim.ticked for claim in present):
        still_open = tuple(c.text for c in present if c.applies and not c.ticked)
        if still_open:
            yield Message("open", {"boxes": still_open})
    else:
        yield Message("none-ticked", {"count": len(present)})
    deleted = tuple(claim.text for claim in claims if claim.ticked is None)
    if deleted:
        yield Message("gone", {"boxes": deleted})
    yield from _contradicted_ticks(present)


def _contradicted_ticks(claims: list[BoxClaim]) -> Iterator[Message]:
    for claim in claims:
        if not claim.ticked or claim.proved is not False:
            continue
        key = _CONTRADICTED.get(claim.kind)
        if key is not None:
            yield Message(key)
