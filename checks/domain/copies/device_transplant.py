"""The change of a device op carried over to a copy, where its lines are the same but for the
indentation.
"""

from __future__ import annotations

from checks.core.change import ChangeSet
from checks.core.finding import Edit, Fix
from checks.domain.copies.unchanged_copies import UnchangedCopy
from checks.domain.siblings import base_unit
from checks.domain.source_search import whole_word


def transplant_all(copies: list[UnchangedCopy], change: ChangeSet) -> Fix | None:
    """The edits that give every copy the new lines; None where one of them cannot have them."""
    edits: dict[tuple[str, int], Edit] = {}
    for copy in copies:
        edit = _transplant(copy, change)
        if edit is None:
            return None
        edits[edit.path, edit.start_line] = edit
    return Fix(tuple(edits.values())) if edits else None


def _transplant(copy: UnchangedCopy, change: ChangeSet) -> Edit | None:
    """The new lines in place of the copy's.

    None where the statement went away or only came under a condition, where a name of the new form
    is not known in the copy, or where the copy's lines differ from the old ones.
    """
    alteration, effect = copy.alteration, copy.effect
    old, new = alteration.old, alteration.new
    if new is None or alteration.guard is not None:
        return None
    before = base_unit(alteration.function.path, change)
    after = change.unit(alteration.function.path)
    if before is None or after is None:
        return None
    if not _knows_names(copy, new.names):
        return None
    old_lines = before.text(old.line, old.end_line).split("\n")
    new_lines = after.text(new.line, new.end_line).split("\n")
    copy_lines = copy.unit.text(effect.line, effect.end_line).split("\n")
    if [line.strip() for line in old_lines] != [line.strip() for line in copy_lines]:
        return None
    if _opens_block(old_lines) != _opens_block(new_lines):
        return None
    copy_indent, new_indent = _indentation(copy_lines[0]), _indentation(new_lines[0])
    lines = [copy_indent + line.rstrip("\r").removeprefix(new_indent) for line in new_lines]
    return Edit(copy.unit.path, effect.line, effect.end_line, tuple(lines))


def _knows_names(copy: UnchangedCopy, names: set[str]) -> bool:
    """Whether all names of the new form stand in the copy's function."""
    text = copy.unit.text_of(copy.function)
    return all(whole_word(name).search(text) for name in names)


def _opens_block(lines: list[str]) -> bool:
    return lines[-1].rstrip().endswith("{")


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
