"""The wheel: one package with everything in it, that runs without the checkout's names."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("bot", "checks", "kernels", "templates")


@pytest.fixture(scope="session")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def test_it_has_every_file_of_the_folders(unpacked: Path) -> None:
    listed = ["git", "ls-files", *FOLDERS]
    tracked = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True)
    missing = [n for n in tracked.stdout.split() if not (unpacked / "specbot" / n).is_file()]
    assert not missing


def test_it_has_one_package(unpacked: Path) -> None:
    folders = sorted(path.name for path in unpacked.iterdir())
    assert folders[0] == "specbot"
    assert folders[1].endswith(".dist-info")
    assert len(folders) == 2


def test_no_module_imports_by_a_name_of_the_checkout(unpacked: Path) -> None:
    absolute = []
    for path in sorted(unpacked.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            modules: list[str] = []
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                modules = [node.module or ""]
            absolute += [(path, module) for module in modules if module.split(".")[0] in FOLDERS]
    assert not absolute


def test_a_statement_stays_on_its_line(unpacked: Path) -> None:
    """Tracebacks of the wheel and of the checkout name the same lines."""
    for path in sorted((unpacked / "specbot").rglob("*.py")):
        source = ROOT / path.relative_to(unpacked / "specbot")
        if source.is_file():
            ours, theirs = source.read_text("utf-8"), path.read_text("utf-8")
            assert len(ours.splitlines()) == len(theirs.splitlines()), path


def test_every_module_of_the_review_is_imported_from_the_package(unpacked: Path) -> None:
    code = (
        "import sys, specbot.bot.cli.review, specbot.bot.action.__main__, specbot.kernels.cases;"
        "print(*sorted(n for n in sys.modules if n.split('.')[0] in "
        "('bot', 'checks', 'kernels', 'templates', 'torch')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=unpacked,
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(unpacked), "PATH": ""},
    )
    assert done.stdout.strip() == ""


@pytest.mark.parametrize(
    ("statement", "rewritten"),
    [
        ("import bot\n", "from .. import bot\n"),
        ("import bot.git as g  # why\n", "from ..bot import git as g  # why\n"),
        ("from checks.core import x, y\n", "from ..checks.core import x, y\n"),
        ("from  checks import (\n    core,\n)\n", "from  ..checks import (\n    core,\n)\n"),
        ("é = 1; from bot import b\n", "é = 1; from ..bot import b\n"),
        ("if 1:\n    from kernels.run import x\n", "if 1:\n    from ..kernels.run import x\n"),
        ("from \\\n  bot import b\n", "from \\\n  ..bot import b\n"),
        ('"from bot import b"\n', '"from bot import b"\n'),
        ("from botany import b\n", "from botany import b\n"),
        ("from . import bot\n", "from . import bot\n"),
        ("from web.x import y\n", "from web.x import y\n"),
        ("import os, sys\n", "import os, sys\n"),
    ],
)
def test_imports_become_relative(statement: str, rewritten: str, build_hook) -> None:
    assert build_hook.with_relative_imports(statement.encode(), ("web",)).decode() == rewritten


@pytest.mark.parametrize(
    ("statement", "rewritten"),
    [
        ("from kernels.run import x\n", "from ..run import x\n"),
        ("from kernels import run\n", "from .. import run\n"),
        ("import kernels.run as r\n", "from .. import run as r\n"),
        ("from bot import x\n", "from ...bot import x\n"),
    ],
)
def test_within_one_package_the_way_stays_in_it(statement, rewritten, build_hook) -> None:
    """The kernels run as a package of their own, with nothing above them."""
    folders = ("kernels", "message")
    assert build_hook.with_relative_imports(statement.encode(), folders).decode() == rewritten


@pytest.mark.parametrize(
    "statement", ["import bot.git\n", "import bot, os\n", "from bot . git import x\n"]
)
def test_what_has_no_relative_form_stops_the_build(statement: str, build_hook) -> None:
    with pytest.raises(build_hook.ImportRewriteError, match="line 1"):
        build_hook.with_relative_imports(statement.encode(), ("web",))


def test_versions_come_from_tags(tmp_path: Path) -> None:
    """A tag, a commit after it, and an archive that has no history."""
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    assert _version(tmp_path) == "0.1.0.dev0"
    _git(tmp_path, "init", "--quiet")
    _git(tmp_path, "add", ".")
    _commit(tmp_path)
    _git(tmp_path, "tag", "v9.8.7")
    assert _version(tmp_path) == "9.8.7"
    _commit(tmp_path)
    # A tag of another kind is none.
    _git(tmp_path, "tag", "rules-frozen-77")
    assert _version(tmp_path).startswith("9.8.8.dev1+g")


def _version(folder: Path) -> str:
    command = [sys.executable, "-m", "hatchling", "version"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


def _commit(folder: Path) -> None:
    who = ("-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false")
    _git(folder, *who, "commit", "--quiet", "--allow-empty", "-m", "m")
