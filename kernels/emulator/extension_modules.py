"""The repository's pybind modules in the process of a test: found by `import`, and by PyTorch's
`cpp_extension.load`, which would build them."""

from __future__ import annotations

import importlib.abc
import importlib.util
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from pathlib import Path
from types import BuiltinFunctionType, ModuleType
from typing import Any

from torch.utils import cpp_extension

from kernels.emulator.standins import NotEmulated
from kernels.emulator.torch_bindings import EXTENSION_NAME

Function = Callable[..., Any]
Note = Callable[[str, Function, Sequence[Any], Mapping[str, Any]], None]


class MissingModule(NotEmulated, ImportError):
    """A module that was not built: what imports it is not run, or goes on without it."""


class ExtensionModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules by their names, or by the file that binds them.

    `modules` has the library of each, or nothing where `refusals` say why; `ops` are the names of
    the ops of each library. `note` is told of every call before it is made.
    """

    def __init__(
        self,
        modules: Mapping[str, str],
        refusals: Mapping[str, str],
        ops: Mapping[str, Sequence[str]],
        note: Note,
    ) -> None:
        self._modules = modules
        self._refusals = refusals
        self._ops = ops
        self._note = note
        self._loaded: dict[str, ModuleType] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name in self._modules else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self.module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Its code ran when it was made."""

    def module(self, name: str) -> ModuleType:
        """The module of a name or binding file. Raises `MissingModule`."""
        library = self._modules[name]
        if not library:
            raise MissingModule(f"module {name}: {self._refusals.get(name, 'it was not built')}")
        if library not in self._loaded:
            module = load_module(library)
            for op, function in functions_of(module, self._ops.get(library, ())).items():
                setattr(module, _function_name(op), _noting(function, op, self._note))
            self._loaded[library] = module
        return self._loaded[library]

    def load(
        self, name: str, sources: str | Sequence[str | Path], *_: Any, **__: Any
    ) -> ModuleType:
        """In the place of `cpp_extension.load`: the module of one of the sources."""
        given = [sources] if isinstance(sources, (str, Path)) else sources
        for source in given:
            for known in self._modules:
                if _is_same(str(source), known):
                    return self.module(known)
        raise MissingModule(f"module {name}: no source of it binds functions that were built")

    def install(self) -> None:
        """Let PyTorch's own functions ask here."""
        cpp_extension.load = self.load


def load_module(library: str) -> ModuleType:
    """The module in a library, apart from any other that is bound by the same name.

    pybind11 keeps a module by its whole name, and gives it again to who asks for another file's.
    """
    name = f"{Path(library).stem}.{EXTENSION_NAME}"
    loader = ExtensionFileLoader(name, library)
    spec = importlib.util.spec_from_file_location(name, library, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def functions_of(module: ModuleType, ops: Iterable[str]) -> dict[str, Function]:
    """A module's own functions, by the names of their ops."""
    found = {op: getattr(module, _function_name(op), None) for op in ops}
    return {op: value for op, value in found.items() if isinstance(value, BuiltinFunctionType)}


def _function_name(op: str) -> str:
    return op.rpartition(".")[2]


def _is_same(source: str, known: str) -> bool:
    """Whether a source that a program names is the file of the repository."""
    own = source.removeprefix("./")
    return f"/{own}".endswith(f"/{known}") or f"/{known}".endswith(f"/{own}")


def _noting(function: Function, op: str, note: Note) -> Function:
    @wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        note(op, function, arguments, named)
        return function(*arguments, **named)

    return call
