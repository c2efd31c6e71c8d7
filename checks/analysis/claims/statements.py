"""What functions call, and what changed in them, statement by statement."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from checks.analysis import called
from checks.analysis import statements as changed
from checks.analysis.claims.places import at, own_names
from checks.analysis.model import Claim
from checks.change import ChangeSet
from checks.config import Config
from checks.finding import Location, Message, Side
from checks.source import language

_MOST_BRANCHES = 6
_MOST_WRITTEN = 4
_MOST_DEFINITIONS = 12
_FIELD = re.compile(r"\.(\w+\[\d+\])")


def calls(change: ChangeSet, config: Config, known: set[str]) -> Iterator[Claim]:
    """Calls that came or went, of names that the repository defines and no other claim explains."""
    for found in called.calls(change, config):
        gained = [n for n in found.gained if n not in known and _defined(n, change, Side.HEAD, config)]
        lost = [n for n in found.lost if n not in known and _defined(n, change, Side.BASE, config)]
        if gained or lost:
            args = {"name": found.function.qualname, "gained": gained, "lost": lost, "path": found.function.path}
            yield Claim(Message("calls", args), (at(found.function),), (*own_names(found.function), *gained))


def _defined(name: str, change: ChangeSet, side: Side, config: Config) -> bool:
    """Whether the product defines, registers or binds `name`, in few places."""
    if len(name) <= 4:
        return False
    python = re.compile(rf"\bdef {name}\(")
    cpp = re.compile(rf"\bPD_BUILD\w*\({name}\)|m\.def\(\"{name}\"|^\w[\w:<>&* ]*[\s&*]{name}\(")
    marks = {"python": python, "cpp": cpp}
    hits = change.tree(side).find(name)
    defined = {h.path for h in hits if (kind := language(h.path)) in marks and marks[kind].search(h.text)}
    return 0 < sum(not config.is_test(path) for path in defined) <= _MOST_DEFINITIONS


def conditions(change: ChangeSet, config: Config) -> Iterator[Claim]:
    for found in changed.conditions(change, config):
        args = {"name": found.function.qualname, "old": found.old, "new": found.new, "path": found.function.path}
        yield Claim(Message("condition", args), (Location(found.function.path, found.line),), own_names(found.function))


def written(change: ChangeSet, config: Config) -> Iterator[Claim]:
    seen: Counter[str] = Counter()
    for read in (changed.unpacked, changed.assignments, changed.loops):
        for found in read(change, config):
            name = found.function.qualname
            seen[name] += 1
            if seen[name] > _MOST_WRITTEN:
                continue
            args = {"name": name, "target": found.target, "old": found.old, "new": found.new}
            if read is changed.unpacked:
                message = Message("unpacked", args)
            else:
                message = Message("assigned", args) if read is changed.assignments else Message("loop", args)
            # A field of a message ties its senders and receivers together: `meta[1]`.
            fields = _FIELD.findall(found.target if found.old or not found.new else found.new)
            yield Claim(message, (Location(found.function.path, found.line),), (*own_names(found.function), *fields))


def branches(change: ChangeSet, config: Config) -> Iterator[Claim]:
    for found in changed.branches(change, config):
        members = [f"{found.enum}.{m}" for m in found.members[:_MOST_BRANCHES]]
        args = {"name": found.function.qualname, "members": members, "new": found.new, "path": found.function.path}
        yield Claim(Message("branches", args), (Location(found.function.path, found.line),), own_names(found.function))
