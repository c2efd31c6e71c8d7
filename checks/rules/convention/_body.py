"""A whole description to paste: the template's structure, the author's text word for word, facts
where it is empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.rules.convention import _fill
from checks.rules.convention._boxes import Claim, Kind, claims
from checks.rules.convention._draft import Draft
from checks.rules.convention._markdown import (
    Section,
    box_text,
    is_boilerplate,
    normal,
    strip_comments,
    tick,
)
from checks.rules.convention._titles import parse
from checks.rules.convention.proposal import Line, Paste


def propose(draft: Draft) -> Paste:
    """The description, made once for all the rules. Sections of the author's that the template lacks stay, before the
    checklist.
    """
    return draft.change.memo((Paste, draft.config), lambda: _propose(draft))


def _propose(draft: Draft) -> Paste:
    parts: list[str | Line] = []
    template = _template_sections(draft)
    used = {normal(s.name) for s in template}
    extra = [s for s in draft.sections if s.name and normal(s.name) not in used]
    loose = [s for s in draft.sections if not s.name]
    if any(s.name for s in draft.sections):
        parts += [_own_text(s, draft) for s in loose if draft.says(s)]
        loose = []
    for section in template:
        if draft.template.is_checklist(section):
            parts += [_whole(s, draft) for s in extra]
            extra = []
            parts.append(_checklist(section, draft))
            parts += _own_notes(section, draft)
        else:
            parts += _section(section, draft, loose)
            loose = []
    parts += [_whole(s, draft) for s in extra]
    return Paste(tuple(_spaced(parts)))


def _spaced(parts: list[str | Line]) -> Iterator[str | Line]:
    """A blank line before every heading."""
    for part in parts:
        if isinstance(part, str) and part.startswith("#"):
            yield ""
        yield part


def _template_sections(draft: Draft) -> list[Section]:
    """The template's sections, and the required ones that it lacks."""
    own = [s for s in draft.template.sections if s.name]
    have = {normal(s.name) for s in own}
    missing = [n for n in draft.template.required if normal(n) not in have]
    return own + [Section(n, 2, f"## {n}", ()) for n in missing]


def _section(section: Section, draft: Draft, loose: list[Section]) -> Iterator[str | Line]:
    """A heading with the author's text under it; text that had no heading goes under the first."""
    yield f"{section.title}\n"
    given = [*loose, *(s for s in draft.sections if normal(s.name) == normal(section.name))]
    texts = [_own_text(s, draft) for s in given if draft.says(s)]
    if texts:
        yield from texts
    else:
        yield from _fill.lines(section.name, draft)
    if any(box_text(line) is not None for line in section.lines):
        yield f"\n{_ticked_lines(section, draft)}"


def _own_text(section: Section, draft: Draft) -> str:
    """The section's lines but the template's own; code blocks and blank lines stay."""
    text = strip_comments("\n".join(section.lines))
    kept = [x for x in text.split("\n") if not is_boilerplate(x, draft.template.boilerplate)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip("\n")


def _whole(section: Section, draft: Draft) -> str:
    return f"{section.title}\n\n{_own_text(section, draft)}"


def _checklist(section: Section, draft: Draft) -> str:
    return f"{section.title}\n\n{_ticked_lines(section, draft)}"


def _own_notes(section: Section, draft: Draft) -> list[str]:
    """What the author wrote under the checklist besides ticks."""
    given = [s for s in draft.sections if normal(s.name) == normal(section.name) and draft.says(s)]
    return [f"\n{_own_text(s, draft)}" for s in given]


def _ticked_lines(section: Section, draft: Draft) -> str:
    """The template's lines, a box ticked where facts prove it, or the author did and nothing is against it."""
    found = {c.text: c for c in claims(draft)}
    lines = []
    for line in strip_comments("\n".join(section.lines)).strip("\n").split("\n"):
        text = box_text(line)
        lines.append(line if text is None else tick(line, _ticked(found[text], draft)))
    return "\n".join(lines)


def _ticked(claim: Claim, draft: Draft) -> bool:
    if claim.kind is Kind.TAG:
        # The title that is proposed beside this text has its tag.
        return claim.proved is True or bool(parse(draft.better_title).impact(draft.config))
    return claim.proved is True or (claim.proved is None and claim.ticked is True)
