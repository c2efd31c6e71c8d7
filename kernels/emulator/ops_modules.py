"""The modules that tests import compiled ops from, made of the ops that were built here."""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from kernels.emulator.discovery import imported_names, used_attributes
from kernels.emulator.library import HostTensor, OpSignature
from kernels.emulator.session import SESSION
from kernels.emulator.standins import NotEmulated


def modules_with_ops(test: Path, ops: set[str]) -> set[str]:
    """The modules that the test file imports at least one of the ops from."""
    text = test.read_text("utf-8")
    names = imported_names(text) | used_attributes(text)
    return {module for name, module in names if name in ops and module}


class OpsFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Makes the modules of ops, and their packages without running the packages' own code.

    A package's other modules are the repository's, and a name that the package itself takes from
    one of them is taken from there alone. `refusals` say why an op is not there; `packages` are
    others to be made so.
    """

    def __init__(
        self,
        root: Path,
        modules: set[str],
        refusals: dict[str, str],
        packages: Collection[str] = (),
    ) -> None:
        self._root = root
        self._modules = modules
        self._refusals = refusals
        self._tops = {module.partition(".")[0] for module in modules} | set(packages)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name in self._modules:
            return importlib.machinery.ModuleSpec(name, self)
        folder = self._root / name.replace(".", "/")
        if name.partition(".")[0] not in self._tops or folder.with_suffix(".py").is_file():
            return None
        is_parent = any(module.startswith(f"{name}.") for module in self._modules)
        if not folder.is_dir() and not is_parent:
            return None
        spec = importlib.machinery.ModuleSpec(name, self, is_package=True)
        spec.submodule_search_locations = [str(folder)]
        return spec

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ not in self._modules:
            origin = self._root / module.__name__.replace(".", "/") / "__init__.py"
            module.__getattr__ = partial(_reexported, module, origin)  # type: ignore[method-assign]
            return
        for op, signature in SESSION.ops().items():
            setattr(module, op, make_op(op, signature))

        def missing(name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            why = self._refusals.get(name, "no source that was built registers it")
            raise NotEmulated(f"op {name}: {why}")

        module.__getattr__ = missing  # type: ignore[method-assign]


def _reexported(package: ModuleType, origin: Path, name: str) -> Any:
    """What a package takes from one of its modules, without the rest of the package's own code."""
    if not name.startswith("__") and origin.is_file():
        for node in ast.walk(ast.parse(origin.read_text("utf-8"))):
            if not isinstance(node, ast.ImportFrom) or not node.module:
                continue
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    module = _absolute(package.__name__, node)
                    return getattr(importlib.import_module(module), alias.name)
    raise AttributeError(f"module {package.__name__!r} has no attribute {name!r}")


def _absolute(package: str, node: ast.ImportFrom) -> str:
    if node.level == 0:
        return node.module or ""
    parts = package.split(".")
    above = parts[: len(parts) - node.level + 1]
    return ".".join([*above, node.module or ""])


def make_op(name: str, signature: OpSignature) -> Callable[..., Any]:
    """A function that runs the op on Paddle's stand-in tensors."""
    parameters = signature.parameters

    def op(*arguments: Any, **named: Any) -> Any:
        values = list(arguments)
        if named:
            values += _ordered(name, parameters[len(values) :], named)
        results = _run(name, values)
        if not results:
            by_name = dict(zip(parameters, values, strict=False))
            results = [by_name[parameter] for parameter in signature.in_place]
        if not results:
            return None
        return results[0] if len(results) == 1 else results

    op.__name__ = name
    return op


def _ordered(name: str, parameters: Sequence[str], named: dict[str, Any]) -> list[Any]:
    unknown = set(named) - set(parameters)
    if not parameters:
        return list(named.values())
    if unknown:
        raise TypeError(f"{name}() got an unexpected keyword argument {sorted(unknown)[0]!r}")
    return [named.get(parameter) for parameter in parameters]


def _run(name: str, values: Sequence[Any]) -> list[Any]:
    """The results, if any; tensors among the values have what the op wrote."""
    paddle = sys.modules["paddle"]
    pairs: list[tuple[Any, HostTensor]] = []

    def convert(value: Any) -> Any:
        if isinstance(value, paddle.Tensor):
            for tensor, host in pairs:
                if tensor is value:
                    return host
            host = value.host_tensor()
            pairs.append((value, host))
            return host
        if isinstance(value, (list, tuple)):
            return [convert(item) for item in value]
        return value

    results = SESSION.call(name, [convert(value) for value in values])
    for tensor, host in pairs:
        tensor.take(host)
    return [paddle.Tensor.of_result(r) if isinstance(r, HostTensor) else r for r in results]
