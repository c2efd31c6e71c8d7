"""## What it does

A pull request into a release branch must be a pick of one that the development branch already has,
and say so: `[Cherry-Pick][Tag] words (#1234)`, the cherry-pick tag first, the number of the
original last. The same form is asked of every title that calls itself a cherry-pick.

## Why it matters

A fix that lands only on a release branch is lost with the next release. PaddlePaddle/FastDeploy
checks the form in `scripts/check_approval.sh`, after CI machines have been started; #7192 first
came without its `(#7172)`.

## Example

    release/2.6   [BugFix] fix MTP bugs in TP           neither tag nor number
    release/2.6   [Cherry-Pick][BugFix] fix MTP bugs    no number
    release/2.6   [BugFix][Cherry-Pick] fix (#7172)     the tag does not come first

## Known limits

Whether the pull request with that number was merged into the development branch needs the network,
and is not checked here. Which branches are release branches is configured (`branches.release`).
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Severity
from checks.rules.convention._draft import Draft, draft

ID = "convention.cherry-pick"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding with everything that the title lacks of the cherry-pick form."""
    if not change.pull.known:
        return
    written = draft(change, config)
    if not written.is_pick:
        return
    problems = tuple(_problems(written))
    if not problems:
        return
    args = {
        "problems": problems,
        "branch": change.pull.target_branch if written.to_release else "",
        "develop": config.branches.develop,
        "title": written.better_title,
        "unknown": written.source_number is None,
    }
    yield Finding(
        rule=ID,
        severity=Severity.CONVENTION,
        confidence=Confidence.HIGH,
        location=Location("", 0),
        message=Message("cherry-pick", args),
        subject=change.pull.title,
    )


def _problems(written: Draft) -> Iterator[Message]:
    wanted = written.config.title.cherry_pick_tag
    title, picks = written.title, written.title.picks(written.config)
    if not picks:
        yield Message("no-pick-tag", {"tag": f"[{wanted}]"})
    elif wanted not in picks:
        yield Message("misspelt", {"tag": f"[{picks[0]}]", "wanted": f"[{wanted}]"})
    elif title.tags[0] != wanted:
        yield Message("not-first", {"tag": f"[{wanted}]"})
    if not title.numbers:
        number = written.source_number
        args = {"number": f"#{number}"}
        if number is None:
            yield Message("no-number", args)
        else:
            yield Message("number-in-body", args)
    elif not title.ending:
        yield Message("not-last", {"number": f"#{title.numbers[-1]}"})
