"""Keys under which a function no longer puts a value, but puts it under one that nobody knows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Location
from checks.domain.keys import KeyUse, key_uses, may_assign
from checks.domain.source_search import changed_python_functions, product_lines
from checks.lang.ir.source_file import Function, SourceFile

# What other programs read.
_OF_OTHERS = frozenset({"environ"})


@dataclass(frozen=True, slots=True)
class RenamedKey:
    """`holder[new]` gets on `line` what `holder[old]` got before; `read` is where the old key is
    still taken."""

    holder: str
    old: str
    new: str
    line: int
    function: Function
    unit: SourceFile
    read: Location


def renamed_keys(change: ChangeSet, config: Config) -> Iterator[RenamedKey]:
    """The keys that the change renamed where they are set, and not where they are read."""
    for base, head, unit in changed_python_functions(change, config):
        text = unit.text_of(head)
        for old, new in _renamed_in(base, head) if base is not None else ():
            if may_assign(old.key, text) or _is_handed_on(new.holder, text):
                continue
            if _is_known(new, change):
                continue
            read = _first_read(old, change, config)
            if read is not None:
                yield RenamedKey(new.holder, old.key, new.key, new.line, head, unit, read)


def _renamed_in(base: Function, head: Function) -> Iterator[tuple[KeyUse, KeyUse]]:
    """The keys that a function set before and does not now, with that which has their value."""
    before, now = _sets_in(base), _sets_in(head)
    lost = [use for use in before if use.key not in {other.key for other in now}]
    gained = [use for use in now if use.key not in {other.key for other in before}]
    for old in lost:
        same = [
            use for use in (*lost, *gained) if (use.holder, use.value) == (old.holder, old.value)
        ]
        if len(same) == 2 and same[1] in gained and old.value is not None:
            yield old, same[1]


def _sets_in(function: Function) -> list[KeyUse]:
    return [use for use in key_uses(function) if use.sets and use.holder != "self"]


def _is_handed_on(holder: str, text: str) -> bool:
    """Whether its keys may be the names of another function's parameters."""
    return holder in _OF_OTHERS or re.search(rf"\*\*\s*{re.escape(holder)}\b", text) is not None


def _is_known(use: KeyUse, change: ChangeSet) -> bool:
    """Whether anything but the one place where it is set names the key."""
    return len(change.head.find(use.key)) > 1


def _first_read(use: KeyUse, change: ChangeSet, config: Config) -> Location | None:
    """Where the key is taken from what goes by the same name."""
    key = rf"[\"']{re.escape(use.key)}[\"']"
    holder = rf"\b{re.escape(use.holder)}"
    taken = re.compile(rf"{holder}(?:\[{key}\](?!\s*=[^=])|\.(?:get|pop)\(\s*{key})")
    for line in product_lines(use.key, change, config):
        if taken.search(line.text):
            return Location(line.path, line.line)
    return None
