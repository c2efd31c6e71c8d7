"""## What it does

Compares a pull request's description with the target's own template: every section that must be
filled is there and holds something of the author's. HTML comments and the template's own lines do
not count; `N/A` does. Offers a whole description to paste: the author's text word for word, empty
sections filled with what the change is seen to do.

## Why it matters

An empty `Modifications` makes the reviewer reconstruct the change. PaddlePaddle/FastDeploy fails
its `Check PR Template` job on it: #7884 left three of four sections empty, #7192 all of them.

## Example

    ## Modifications
    <!-- Detail the changes made in this pull request. -->      still empty

## Known limits

Whether what is written is true or enough is not judged. Of a folder of several templates the one
whose headings the description has is taken.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Severity
from checks.rules.convention._body import propose_description
from checks.rules.convention._draft import draft

ID = "convention.description"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding with every section that is empty or missing."""
    if not change.pull.known:
        return
    written = draft(change, config)
    required = written.template.required
    missing, empty = [], []
    for name in required:
        section = written.section(name)
        if section is None:
            missing.append(name)
        elif not written.says(section):
            empty.append(name)
    if not missing and not empty:
        return
    args = {
        "empty": tuple(empty),
        "missing": tuple(missing),
        "count": len(required),
        "body": propose_description(written),
    }
    message = Message("sections", args)
    if not change.pull.body.strip():
        message = Message("no-body", args)
    yield Finding(
        rule=ID,
        severity=Severity.CONVENTION,
        confidence=Confidence.HIGH,
        location=Location("", 0),
        message=message,
        subject=" ".join((*empty, *missing)),
    )
