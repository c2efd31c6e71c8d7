"""What became of names: exchanged for others, keys of tables, classes, constants."""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Location, Message, Side
from checks.domain.change_facts import Facts
from checks.summary.model import Claim
from checks.summary.replacements import Replacement

_KEY = re.compile(r"""\b(\w+)\[["'](\w+)["']\]\s*=(?!=)""")


def replacement(r: Replacement) -> Claim:
    args = {
        "old": r.old,
        "new": r.new,
        "places": len(r.places),
        "files": list(r.files),
        "left": len(r.left),
        "gone": not r.left,
    }
    return Claim(Message("replaced", args), r.places, (r.new,))


def keys(change: ChangeSet, config: Config, known: set[str]) -> Iterator[Claim]:
    """Keys of a table (`share_inputs["x"] = ...`) that a file sets and did not."""
    for file in change.files:
        head = (
            change.unit(file.head_path)
            if file.head_path and not config.is_test(file.path)
            else None
        )
        base = change.unit(file.base_path, Side.BASE) if file.base_path else None
        if head is None or head.language != "python" or base is None:
            continue
        before = "\n".join(base.lines)
        set_here: dict[str, list[tuple[str, int]]] = {}
        for line in sorted(file.head_lines()):
            for table, key in _KEY.findall(head.text(line)):
                if key not in known and not re.search(rf"""["']{key}["']""", before):
                    set_here.setdefault(table, []).append((key, line))
        for table, keys in set_here.items():
            names = list(dict.fromkeys(k for k, _ in keys))
            places = tuple(Location(head.path, line) for _, line in keys)
            yield Claim(
                Message("keys", {"table": table, "names": names, "path": head.path}),
                places,
                tuple(names),
            )


def classes(change: ChangeSet, config: Config) -> Iterator[Claim]:
    """Classes that came or went, and members that an enum gained."""
    for file in change.files:
        if config.is_test(file.path) or file.mode != "file":
            continue
        head = change.unit(file.head_path) if file.head_path else None
        base = change.unit(file.base_path, Side.BASE) if file.base_path else None
        old = {c.name: c for c in base.classes} if base else {}
        for c in head.classes if head else ():
            if c.name not in old:
                yield Claim(
                    Message("class-added", {"name": c.name, "path": c.path}),
                    (Location(c.path, c.start_line),),
                    (c.name,),
                )
        new = {c.name for c in head.classes} if head else set()
        for name, c in old.items():
            if name not in new:
                where = (Location(c.path, c.start_line, side=Side.BASE),)
                yield Claim(
                    Message("class-removed", {"name": name, "path": c.path}), where, (name,)
                )


def constants(facts: Facts, told: set[str]) -> Iterator[Claim]:
    """Constants and fields; those of a class that came or went (`told`) go without saying."""
    statuses = {f.path: f.status for f in facts.files}
    for c in facts.constants:
        if statuses.get(c.path) in ("A", "D") or c.name.rpartition(".")[0] in told:
            continue
        key = (
            "constant-changed"
            if c.old and c.new
            else "constant-added"
            if c.new
            else "constant-removed"
        )
        args = {"name": c.name, "path": c.path, "old": c.old, "new": c.new}
        where = Location(c.path, c.line, side=Side.HEAD if c.new else Side.BASE)
        yield Claim(Message(key, args), (where,), (c.name.rsplit(".", 1)[-1],))
