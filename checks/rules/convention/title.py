"""## What it does

Checks the tags of a pull request's title against the ones that the target's own template lists (or
its configuration names): a tag must be there, must be known, and there must not be more of them
than the target wants. The words beside them have to name something: `fix bug` and `update` fit any
change. Offers a title to paste: the author's words, with the tag that most of the change belongs
to, and another with what the overview says first of the change.

## Why it matters

Titles become commit subjects and release notes, and bots route on tags.
PaddlePaddle/FastDeploy#7884 came with two tags, `[Optimization][Speculative Decoding]`, where one
is asked for; reviewers had to say so by hand.

## Example

    [Optimisation]Speed up the scheduler      not a listed tag; [Optimization] is the nearest
    [Feature][XPU][OP] add top-k              three tags where one is asked for
    fix a crash                               no tag
    [BugFix] fix bug                          the words fit any change

## Known limits

Where the template says that new tags may be added, an unknown tag is reported only if it looks like
a slip of a listed one, or with `--pedantic`. Words say nothing only where all of them stand in a
short list; whether others are good is not judged. A title with content is offered only where the
overview has something that is short enough.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Severity
from checks.domain.pull_text.titles import is_slip, nearest, same, says_nothing
from checks.rules.convention._draft import Draft, draft

ID = "convention.title"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding with everything that is wrong with the title."""
    if not change.pull.known:
        return
    written = draft(change, config)
    problems = tuple(_problems(written))
    better = written.better_title if problems else ""
    # New tags are worth a word only where nothing is wrong.
    pedantic = not problems
    if pedantic:
        problems = tuple(Message("new-tag", {"tag": tag}) for tag in _new_tags(written))
    if not problems:
        return
    parts = written.title_parts
    args = {
        "problems": problems,
        "title": better if better != change.pull.title else "",
        "lead": parts.lead,
        "words": parts.words,
        "ending": parts.ending,
    }
    yield Finding(
        rule=ID,
        severity=Severity.CONVENTION,
        confidence=Confidence.HIGH,
        location=Location("", 0),
        message=Message("title", args),
        subject=change.pull.title,
        pedantic=pedantic,
    )


def _problems(written: Draft) -> Iterator[Message]:
    rules, tags = written.config.title, written.impact_tags
    if not written.title.words:
        yield Message("no-words")
    elif says_nothing(written.title.words):
        yield Message("empty-words", {"words": written.title.words})
    if not tags and rules.require_tag:
        yield Message("no-tag")
    for tag in tags:
        if _is_wrong(tag, written):
            allowed = written.template.tags
            near = same(tag, allowed) or nearest(tag, allowed)
            args = {"tag": f"[{tag}]", "nearest": f"[{near}]" if near else ""}
            yield Message("unknown-tag", args)
    if len(tags) > rules.most_tags:
        named = tuple(f"[{tag}]" for tag in tags)
        yield Message("too-many", {"tags": named, "most": rules.most_tags})


def _is_wrong(tag: str, written: Draft) -> bool:
    """Whether the target lists tags, and neither has this one nor takes it as a new one."""
    allowed = written.template.tags
    if not allowed or tag in allowed:
        return False
    return is_slip(tag, allowed) or not written.template.takes_new_tags


def _new_tags(written: Draft) -> list[str]:
    """Tags of the author's own, where the target takes them."""
    allowed = written.template.tags
    return [f"[{tag}]" for tag in written.impact_tags if allowed and tag not in allowed]
