"""The wheel, built once for the tests of this folder."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, from the locked build tools."""
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out)]
    subprocess.run([*command, str(ROOT)], check=True, capture_output=True, timeout=300)
    (path,) = out.glob("specbot-*.whl")
    return path


@pytest.fixture(scope="session")
def build_hook() -> ModuleType:
    """The module of the build hook, which lies beside no package."""
    spec = spec_from_file_location("build_hook", ROOT / ".ci/build_hook.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
