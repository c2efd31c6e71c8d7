"""What a Python module of the tree offers to those that import from it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.finding import Side
from checks.domain.calls.classes import Classes
from checks.domain.calls.syntax_names import module_binds
from checks.lang.ir.source_file import Import, SourceFile


@dataclass(frozen=True, slots=True)
class Exports:
    """The modules of one side of a change."""

    classes: Classes

    @classmethod
    def of_change(cls, change: ChangeSet, side: Side = Side.HEAD) -> Exports:
        """The one table of this side of the change."""
        return change.memo((cls, side), lambda: cls(Classes.of_change(change, side)))

    def module(self, item: Import, unit: SourceFile) -> SourceFile | None:
        """The file of the tree from which an import takes its name."""
        return self.classes.program.module_of(item, unit).unit

    def certainly_lacks(self, item: Import, unit: SourceFile) -> bool:
        """Whether the module is in the tree and has no such name.

        What a package lacks may be a module that is built (`from engine import kernels`).
        """
        module = self.module(item, unit)
        is_one_name = bool(item.name) and item.name != "*"
        return is_one_name and module is not None and self.lacks(module, item.name)

    def lacks(self, module: SourceFile, name: str) -> bool:
        """Whether a file of the tree certainly has no such name at its top level."""
        if module.broken:
            return False
        text = "\n".join(module.lines)
        if module_binds(text, name) or _binds_others(text):
            return False
        return not self._is_submodule(name, module)

    def _is_submodule(self, name: str, module: SourceFile) -> bool:
        if not is_package(module):
            return False
        folder = module.path.removesuffix("__init__.py")
        tree = self.classes.change.tree(self.classes.side)
        start = f"{folder}{name}"
        return any(path.startswith((f"{start}.", f"{start}/")) for path in tree.paths())


def is_package(module: SourceFile) -> bool:
    """Whether the file is that of a package, which may have modules that only a build makes."""
    return module.path.endswith("__init__.py")


def names_lost(base: SourceFile, head: SourceFile) -> set[str]:
    """The names of the top level that a file had and has no more."""
    return _top_names(base) - _top_names(head)


def _top_names(unit: SourceFile) -> set[str]:
    """The functions, classes and values that a file defines or imports at its top level."""
    names = {f.name for f in unit.functions if f.qualname == f.name}
    names |= {item.alias or item.name for item in unit.imports if item.name and not item.function}
    names |= {cls.name for cls in unit.classes}
    names |= {constant.name for constant in unit.constants if not constant.owner}
    return names


def _binds_others(text: str) -> bool:
    """Whether a module binds names that are not written down, or is made by a build."""
    return re.search(r"import \*|__getattr__|globals\(\)|sys\.modules|LazyLoader", text) is not None
