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
        if module is None or not item.name or item.name == "*" or module.broken:
            return False
        text = "\n".join(module.lines)
        if module_binds(text, item.name) or _binds_others(text):
            return False
        return not self._is_submodule(item, unit, module)

    def _is_submodule(self, item: Import, unit: SourceFile, module: SourceFile) -> bool:
        if not module.path.endswith("__init__.py"):
            return False
        folder = module.path.removesuffix("__init__.py")
        tree = self.classes.change.tree(self.classes.side)
        start = f"{folder}{item.name}"
        return any(path.startswith((f"{start}.", f"{start}/")) for path in tree.paths())


def _binds_others(text: str) -> bool:
    """Whether a module binds names that are not written down, or is made by a build."""
    return re.search(r"import \*|__getattr__|globals\(\)|sys\.modules|LazyLoader", text) is not None
