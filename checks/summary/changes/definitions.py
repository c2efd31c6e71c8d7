"""Whether the product itself defines what a name stands for."""

from __future__ import annotations

import re

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Side
from checks.lang.source import language

_MOST_DEFINITIONS = 12
_LEAST_LENGTH = 5


def is_defined(name: str, change: ChangeSet, side: Side, config: Config) -> bool:
    """Whether the product defines, registers or binds `name`, and in few places.

    A name that a dozen files define (`forward`) says nothing about a change.
    """
    if len(name) < _LEAST_LENGTH:
        return False
    paths = _paths_defining(name, change, side)
    product = [path for path in paths if not config.is_test(path)]
    if 0 < len(product) <= _MOST_DEFINITIONS:
        return True
    return _is_function_of_changed_cpp(name, change, side)


def _paths_defining(name: str, change: ChangeSet, side: Side) -> set[str]:
    tree = change.tree(side)
    paths = set(tree.paths_containing(f"def {name}", "python"))
    paths.update(tree.paths_containing(f"class {name}", "python"))
    # A registered op, a pybind11 binding, or a function that starts in the first column.
    cpp = re.compile(rf"\bPD_BUILD\w*\({name}\)|m\.def\(\"{name}\"|^\w[\w:<>&* ]*[\s&*]{name}\(")
    for match in tree.find(name, "cpp"):
        if cpp.search(match.text):
            paths.add(match.path)
    return paths


def _is_function_of_changed_cpp(name: str, change: ChangeSet, side: Side) -> bool:
    """Whether a changed C++ file has a function of this name.

    A method is indented like a call of it, so the search by text does not find its definition.
    """
    for file in change.files:
        path = file.base_path if side is Side.BASE else file.head_path
        if file.mode != "file" or not path or language(path) != "cpp":
            continue
        unit = change.unit(path, side)
        if unit is not None and any(f.name == name for f in unit.functions):
            return True
    return False
