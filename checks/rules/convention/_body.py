"""A whole description to paste: the template's structure, the author's text word for word, and
facts where it is empty."""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.domain.paste import Paste, PasteLine
from checks.domain.pull_text.markdown import (
    Section,
    box_text,
    is_boilerplate,
    normal,
    strip_comments,
    tick,
)
from checks.domain.pull_text.titles import parse
from checks.rules.convention import _fill
from checks.rules.convention._boxes import BoxClaim, BoxKind, box_claims
from checks.rules.convention._draft import Draft


def propose_description(draft: Draft) -> Paste:
    """The description, made once for all the rules.

    Sections of the author's that the template lacks stay, before the checklist.
    """
    return draft.change.memo((Paste, draft.config), lambda: Paste(tuple(_spaced(_parts(draft)))))


def _parts(draft: Draft) -> Iterator[str | PasteLine]:
    template = _template_sections(draft)
    template_names = {normal(section.name) for section in template}
    named = [section for section in draft.sections if section.name]
    loose = [section for section in draft.sections if not section.name]
    extra = [section for section in named if normal(section.name) not in template_names]
    if named:
        # The author's text before the first heading stays there.
        for section in loose:
            if draft.says(section):
                yield _own_text(section, draft)
        loose = []
    for section in template:
        if draft.template.is_checklist(section):
            for own in extra:
                yield _whole(own, draft)
            extra = []
            yield f"{section.title}\n\n{_ticked_lines(section, draft)}"
            yield from _notes_below_checklist(section, draft)
        else:
            yield from _section(section, draft, loose)
            loose = []
    for own in extra:
        yield _whole(own, draft)


def _spaced(parts: Iterator[str | PasteLine]) -> Iterator[str | PasteLine]:
    """A blank line before every heading."""
    for part in parts:
        if isinstance(part, str) and part.startswith("#"):
            yield ""
        yield part


def _template_sections(draft: Draft) -> list[Section]:
    """The template's sections, and the required ones that it lacks."""
    own = [section for section in draft.template.sections if section.name]
    have = {normal(section.name) for section in own}
    missing = [name for name in draft.template.required if normal(name) not in have]
    return own + [Section(name, 2, f"## {name}", ()) for name in missing]


def _section(section: Section, draft: Draft, loose: list[Section]) -> Iterator[str | PasteLine]:
    """A heading with the author's text under it; text that had no heading goes under the first."""
    yield f"{section.title}\n"
    texts = []
    for own in (*loose, *_sections_named(section.name, draft)):
        if draft.says(own):
            texts.append(_own_text(own, draft))
    if texts:
        yield from texts
    else:
        yield from _fill.fill_section(section.name, draft)
    if any(box_text(line) is not None for line in section.lines):
        yield f"\n{_ticked_lines(section, draft)}"


def _sections_named(name: str, draft: Draft) -> list[Section]:
    return [section for section in draft.sections if normal(section.name) == normal(name)]


def _own_text(section: Section, draft: Draft) -> str:
    """The section's lines but the template's own; code blocks and blank lines stay."""
    text = strip_comments("\n".join(section.lines))
    known = draft.template.boilerplate
    kept = [line for line in text.split("\n") if not is_boilerplate(line, known)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip("\n")


def _whole(section: Section, draft: Draft) -> str:
    return f"{section.title}\n\n{_own_text(section, draft)}"


def _notes_below_checklist(section: Section, draft: Draft) -> Iterator[str]:
    """What the author wrote under the checklist besides ticks."""
    for own in _sections_named(section.name, draft):
        if draft.says(own):
            yield f"\n{_own_text(own, draft)}"


def _ticked_lines(section: Section, draft: Draft) -> str:
    """The template's lines; a box is ticked where facts prove it, or where the author ticked it and
    nothing is against it."""
    claims = {claim.text: claim for claim in box_claims(draft)}
    lines = []
    for line in strip_comments("\n".join(section.lines)).strip("\n").split("\n"):
        text = box_text(line)
        if text is not None:
            line = tick(line, _is_to_be_ticked(claims[text], draft))
        lines.append(line)
    return "\n".join(lines)


def _is_to_be_ticked(claim: BoxClaim, draft: Draft) -> bool:
    if claim.proved is not None and claim.kind is not BoxKind.TAG:
        return claim.proved
    if claim.kind is BoxKind.TAG:
        # The title that is proposed beside this text has its tag.
        return claim.proved is True or bool(parse(draft.better_title).impact(draft.config))
    return claim.ticked is True
