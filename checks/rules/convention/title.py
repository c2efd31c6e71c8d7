"""## What it does

Checks the tags of a pull request's title against the ones that the target's own template lists (or
its configuration names): a tag must be there, must be known, and there must not be more of them
than the target wants. Offers a title to paste: the author's words, with the tag that most of the
change belongs to.

## Why it matters

Titles become commit subjects and release notes, and bots route on tags.
PaddlePaddle/FastDeploy#7884 came with two tags, `[Optimization][Speculative Decoding]`, where one
is asked for; reviewers had to say so by hand.

## Example

    [Optimisation]Speed up the scheduler      not a listed tag; [Optimization] is the nearest
    [Feature][XPU][OP] add top-k              three tags where one is asked for
    fix a crash                               no tag

## Known limits

Where the template says that new tags may be added, an unknown tag is reported only if it looks like
a slip of a listed one, or with `--pedantic`. Whether the words of a title are good is not judged.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Severity
from checks.rules.convention._draft import Draft, draft
from checks.rules.convention._titles import is_slip, nearest, same

ID = "convention.title"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding with everything that is wrong with the title."""
    if not change.pull.known:
        return
    written = draft(change, config)
    found = list(_problems(written))
    if not found and not (fresh := _new_tags(written)):
        return
    problems = tuple(found or (Message("new-tag", {"tag": t}) for t in fresh))
    better = written.better_title if found else ""
    title = better if better != change.pull.title else ""
    yield Finding(
        rule=ID,
        severity=Severity.CONVENTION,
        confidence=Confidence.HIGH,
        location=Location("", 0),
        message=Message("title", {"problems": problems, "title": title}),
        subject=change.pull.title,
        pedantic=not found,
    )


def _problems(written: Draft) -> Iterator[Message]:
    allowed, rules = written.template.tags, written.config.title
    tags = written.impact_tags
    if not written.title.words:
        yield Message("no-words")
    if not tags and rules.require_tag:
        yield Message("no-tag")
    for tag in tags:
        if (
            allowed
            and tag not in allowed
            and (is_slip(tag, allowed) or not written.template.takes_new_tags)
        ):
            near = same(tag, allowed) or nearest(tag, allowed)
            yield Message(
                "unknown-tag", {"tag": f"[{tag}]", "nearest": f"[{near}]" if near else ""}
            )
    if len(tags) > rules.most_tags:
        yield Message("too-many", {"tags": tuple(f"[{t}]" for t in tags), "most": rules.most_tags})


def _new_tags(written: Draft) -> list[str]:
    """Tags of the author's own, where the target takes them."""
    allowed = written.template.tags
    return [f"[{t}]" for t in written.impact_tags if allowed and t not in allowed]
