"""A repository's own Python packages, for tests that import them: found, though nothing of them was
built or installed."""

from __future__ import annotations

import importlib.machinery
import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib.machinery import SourceFileLoader
from importlib.metadata import Distribution, DistributionFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from kernels.emulator.extensions import built_modules
from kernels.emulator.ops_modules import OpsFinder

# The modules that `setup.py` builds: a name with dots, in quotes.
_EXTENSION = re.compile(r"[\"'](\w+(?:\.\w+)+)[\"']")
_WORD = re.compile(r"\w+")
_ALL = "import *"
_ANY = DistributionFinder.Context()


class RepositoryPackages(DistributionFinder):
    """Finds the repository's own packages, and says that they are installed.

    A package's own code runs where it can; where it cannot, for want of what is not installed or
    was not built, its modules are there without it. `built` are modules that others find.
    """

    def __init__(
        self, root: Path, refusals: Mapping[str, str], built: Collection[str] = ()
    ) -> None:
        self._root = root
        self._refusals = refusals
        self._names: set[str] = set()
        self._extensions: set[str] = set()
        for path in root.glob("**/setup.py"):
            text = path.read_text("utf-8", "replace")
            self._extensions |= set(_EXTENSION.findall(text))
            self._extensions |= {name for name, _ in built_modules(text)}
        self._extensions -= set(built)

    def at_top(self) -> list[str]:
        """The packages in the repository's own folder."""
        return sorted(path.parent.name for path in self._root.glob("*/__init__.py"))

    def add(self, name: str, folder: Path) -> OpsFinder:
        """Let a package of `folder` be found."""
        self._names.add(name)
        finder = PackageFinder(folder, self._refusals, name, self._extensions)
        sys.meta_path.insert(0, finder)
        return finder

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if "." in name or name in self._names:
            return None
        found = sorted(self._root.glob(f"**/{name}/__init__.py"))
        if not found:
            return None
        return self.add(name, found[0].parent.parent).find_spec(name)

    def find_distributions(
        self, context: DistributionFinder.Context = _ANY
    ) -> Iterable[Distribution]:
        if context.name in self._names:
            return [_SourceDistribution(context.name or "")]
        return []


class _SourceDistribution(Distribution):
    """What is told of a package that lies in the repository."""

    def __init__(self, name: str) -> None:
        self._name = name

    def read_text(self, filename: str) -> str | None:
        if filename != "METADATA":
            return None
        return f"Metadata-Version: 2.1\nName: {self._name}\nVersion: 0.0.0\n"

    def locate_file(self, path: Any) -> Any:
        return Path(path)


class PackageFinder(OpsFinder):
    """A package whose own code is tried; modules that a build would have made are empty."""

    def __init__(
        self, root: Path, refusals: Mapping[str, str], name: str, extensions: Iterable[str]
    ) -> None:
        super().__init__(root, set(), dict(refusals), [name])
        self._name = name
        self._extensions = set(extensions)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name in self._extensions and name.startswith(f"{self._name}."):
            return importlib.machinery.ModuleSpec(name, self)
        return super().find_spec(name, path, target)

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ in self._extensions:
            return
        origin = self._root / module.__name__.replace(".", "/") / "__init__.py"
        if not origin.is_file():
            return
        try:
            SourceFileLoader(module.__name__, str(origin)).exec_module(module)
        # Whatever it raises is its own affair: most often a library that was not built.
        except Exception as error:
            super().exec_module(module)
            text = origin.read_text("utf-8", "replace")
            module.__getattr__ = _explaining(module, error, text)  # type: ignore[method-assign]


def _explaining(module: ModuleType, error: Exception, text: str) -> Any:
    """`module.__getattr__` that says why the package's own code, `text`, did not run."""
    known = module.__getattr__
    said = set(_WORD.findall(text))

    def find(name: str) -> Any:
        try:
            return known(name)
        except AttributeError:
            folder = Path(next(iter(module.__path__)))
            is_module = (folder / name).is_dir() or (folder / f"{name}.py").is_file()
            # pytest asks every module for names that no code has.
            is_said = name in said or _ALL in text
            if name.startswith("__") or is_module or not is_said:
                raise
            why = f"{module.__name__}: {type(error).__name__}: {error}"
            raise ImportError(why) from error

    return find
