"""What became of names: exchanged for others, keys of tables, classes, constants."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from checks.core.change import ChangeSet
from checks.core.changed import changed_files
from checks.core.config import Config
from checks.core.finding import Location, Message, Side
from checks.domain.change_facts import ConstantFact, Facts
from checks.domain.table_entries import EntryChanges
from checks.lang.ir.source_file import Class
from checks.summary.changes.classes import find_class_changes
from checks.summary.changes.name_replacements import NameReplacement
from checks.summary.claims.wording import (
    LEAST_TOGETHER,
    MOST_NAMED,
    first_names,
    gained_and_lost,
)
from checks.summary.model import Claim

# `share_inputs["key"] = value`
_KEY_SET = re.compile(r"""\b(\w+)\[["'](\w+)["']\]\s*=(?!=)""")


def describe_name_replacement(replacement: NameReplacement) -> Claim:
    """A name that stands where another stood, and whether the old one is still in use."""
    args = {
        "old": replacement.old,
        "new": replacement.new,
        "places": len(replacement.places),
        "files": list(replacement.files),
        "left": list(replacement.changed_left),
        "gone": not replacement.left,
    }
    return Claim(Message("replaced", args), replacement.places, (replacement.new,))


def describe_table_keys(change: ChangeSet, config: Config, known: set[str]) -> Iterator[Claim]:
    """Keys of a table (`share_inputs["x"] = ...`) that a file sets and did not mention before.

    Keys that another claim is about (`known`) are left out.
    """
    for head, base in changed_files(change, config, "python"):
        file = change.changed(head.path)
        if base is None or file is None:
            continue
        before = "\n".join(base.lines)
        keys_of_table: dict[str, list[tuple[str, int]]] = {}
        for line in sorted(file.head_lines()):
            for table, key in _KEY_SET.findall(head.text(line)):
                if key not in known and not re.search(rf"""["']{key}["']""", before):
                    keys_of_table.setdefault(table, []).append((key, line))
        for table, keys in keys_of_table.items():
            names = list(dict.fromkeys(key for key, _ in keys))
            places = tuple(Location(head.path, line) for _, line in keys)
            args = {"table": table, "names": names, "path": head.path}
            yield Claim(Message("keys", args), places, tuple(names))


def describe_classes(change: ChangeSet, config: Config) -> Iterator[Claim]:
    """Classes that came or went, but for those that moved to another file."""
    for classes in find_class_changes(change, config):
        yield from _describe_classes_of_file(classes.added, "added", Side.HEAD)
        yield from _describe_classes_of_file(classes.removed, "removed", Side.BASE)


def _describe_classes_of_file(classes: Sequence[Class], what: str, side: Side) -> Iterator[Claim]:
    """A sentence for each, or one for all where they are many."""
    places = tuple(Location(cls.path, cls.start_line, side=side) for cls in classes)
    names = [cls.name for cls in classes]
    if len(classes) < LEAST_TOGETHER:
        for cls, place in zip(classes, places, strict=True):
            message = Message(f"class-{what}", {"name": cls.name, "path": cls.path})
            yield Claim(message, (place,), (cls.name,))
        return
    args = {
        "path": classes[0].path,
        "count": len(names),
        **first_names(names),
    }
    yield Claim(Message(f"classes-{what}", args), places, tuple(names))


def describe_constants(facts: Facts, class_names: set[str]) -> Iterator[Claim]:
    """Constants and fields that came, went or have another value.

    Those of a whole file, or of a class (`class_names`) that came or went, go without saying.
    """
    statuses = {file.path: file.status for file in facts.files}
    for constant in facts.constants:
        owner = constant.name.rpartition(".")[0]
        if statuses.get(constant.path) in ("A", "D") or owner in class_names:
            continue
        yield _describe_constant(constant)


def _describe_constant(constant: ConstantFact) -> Claim:
    args = {
        "name": constant.name,
        "path": constant.path,
        "old": _whole(constant.old),
        "new": _whole(constant.new),
    }
    entries = constant.entries
    if not constant.new:
        message = Message("constant-removed", args)
    elif not constant.old:
        message = Message("constant-added", args)
    elif entries != EntryChanges():
        table = {**gained_and_lost(entries.gained, entries.lost), "name": constant.name}
        message = Message("entries", {**table, "altered": list(entries.altered[:MOST_NAMED])})
    elif constant.old == constant.new:
        message = Message("constant-inside", {"name": constant.name})
    else:
        message = Message("constant-changed", args)
    side = Side.HEAD if constant.new else Side.BASE
    place = Location(constant.path, constant.line, side=side)
    return Claim(message, (place,), (constant.name.rsplit(".", 1)[-1],))


def _whole(line: str) -> str:
    """The first line of a constant, or nothing where it is of several."""
    return "" if line.endswith(("{", "[", "(", "\\")) else line
