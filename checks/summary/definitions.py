"""Whether the product itself defines what a name stands for."""

from __future__ import annotations

import re

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Side
from checks.lang.source import language

_MOST_DEFINITIONS = 12
_LEAST_LENGTH = 5


def defined(name: str, change: ChangeSet, side: Side, config: Config) -> bool:
    """Whether the product defines, registers or binds `name`, in few places: what everything defines tells nothing."""
    if len(name) < _LEAST_LENGTH:
        return False
    tree = change.tree(side)
    found = {
        path
        for kind in ("def", "class")
        for path in tree.paths_containing(f"{kind} {name}", "python")
    }
    cpp = re.compile(rf"\bPD_BUILD\w*\({name}\)|m\.def\(\"{name}\"|^\w[\w:<>&* ]*[\s&*]{name}\(")
    found |= {h.path for h in tree.find(name, "cpp") if cpp.search(h.text)}
    product = [path for path in found if not config.is_test(path)]
    return 0 < len(product) <= _MOST_DEFINITIONS or _method(name, change, side)


def _method(name: str, change: ChangeSet, side: Side) -> bool:
    """Whether a changed file has a function of this name: a method of C++ is indented as its calls are."""
    paths = (
        f.base_path if side is Side.BASE else f.head_path for f in change.files if f.mode == "file"
    )
    units = (change.unit(p, side) for p in paths if p and language(p) == "cpp")
    return any(f.name == name for u in units if u is not None for f in u.functions)
