"""Modules that stand for an engine's, which is not installed."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType

import pytest


def import_from(modules: Mapping[str, ModuleType], monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets `import` find these modules by their paths, and empty packages above them."""
    for path, module in modules.items():
        monkeypatch.setitem(sys.modules, path, module)
        while "." in path:
            path = path.rpartition(".")[0]
            monkeypatch.setitem(sys.modules, path, ModuleType(path))
