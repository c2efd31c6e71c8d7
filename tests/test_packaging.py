"""What is installed is what the repository says: locks, extras, workflows."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from bot import packaging
from bot.cli.main import main

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
REQUIREMENTS = ROOT / "requirements"
LOCKS = ("build", "base", "action", "service", "dev", "kernels")
# The extra whose packages a lock pins, by its name; the base has none.
EXTRAS = {"base": "", "action": "github", "service": "service", "dev": "dev", "kernels": "kernels"}


def locked(name: str) -> dict[str, set[str]]:
    """The versions that a lock pins, by distribution."""
    pins: dict[str, set[str]] = {}
    for line in (REQUIREMENTS / f"{name}.txt").read_text("utf-8").splitlines():
        if line.startswith("#"):
            continue
        pin = re.fullmatch(r"([a-z0-9-]+)==([^\s;]+)( ; .+)?", line)
        assert pin, f"{name}.txt: not an exact pin: {line}"
        pins.setdefault(pin[1], set()).add(pin[2])
    return pins


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[^A-Za-z0-9_.-]", item)[0].lower() for item in requirements}


def declared(extra: str) -> set[str]:
    """The distributions of the extra, those of the extras that it names included."""
    found: set[str] = set()
    for item in PROJECT["project"]["optional-dependencies"].get(extra, []):
        own = re.fullmatch(r"specbot\[([a-z,]+)\]", item)
        if own is None:
            found |= names([item])
            continue
        for part in own[1].split(","):
            found |= declared(part)
    return found


@pytest.mark.parametrize("name", sorted(EXTRAS))
def test_lock_has_every_declared_dependency(name: str) -> None:
    base = names(PROJECT["project"]["dependencies"])
    assert base | declared(EXTRAS[name]) <= set(locked(name))


def test_every_extra_that_a_command_asks_for_is_declared() -> None:
    """By the import names of its distributions, as this environment has them installed."""
    of_module = metadata.packages_distributions()
    for extra, modules in packaging.EXTRAS.items():
        distributions = {name.lower() for module in modules for name in of_module.get(module, ())}
        assert distributions, extra
        assert distributions <= declared(extra), extra


def test_a_missing_extra_is_one_sentence_with_the_command(monkeypatch, capsys) -> None:
    monkeypatch.setitem(packaging.EXTRAS, "ci", ("a_module_that_nobody_has",))
    assert main(["ci", "report", "run", "--lang", "en"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "pip install 'specbot[ci]'" in said


def test_locks_agree_with_one_another() -> None:
    seen: dict[str, set[str]] = {}
    for name in LOCKS:
        for package, versions in locked(name).items():
            assert seen.setdefault(package, versions) == versions, package


@pytest.mark.parametrize("name", LOCKS)
def test_lock_holds_exact_pins_only(name: str) -> None:
    """No index host, no local path, no hash, no range: `locked` refuses any other line."""
    assert locked(name)


def test_base_install_stays_small() -> None:
    """Issue 24 allows 20 packages; a new one has to be argued for here."""
    assert set(locked("base")) == {
        "bitwuzla",
        "jinja2",
        "markupsafe",
        "pyflakes",
        # The colours of code in reports. Written by hand they would be a lexer for each language.
        "pygments",
        "tree-sitter",
        "tree-sitter-cuda",
        "tree-sitter-python",
    }


@pytest.mark.parametrize("package", ["torch", "triton", "pytest", "playwright", "githubkit"])
def test_service_does_without(package: str) -> None:
    assert package not in locked("service")


def test_pre_commit_runs_the_locked_ruff() -> None:
    hooks = (ROOT / ".pre-commit-config.yaml").read_text("utf-8")
    revision = re.search(r"ruff-pre-commit\n    rev: v(\S+)", hooks)
    assert revision
    assert locked("dev")["ruff"] == {revision[1]}


def test_workflows_ask_for_little() -> None:
    for path in sorted((ROOT / ".github/workflows").glob("*.yml")):
        text = path.read_text("utf-8")
        assert re.search(r"^permissions: \{\}$", text, re.MULTILINE), path.name
        checkouts = text.count("actions/checkout@")
        assert text.count("persist-credentials: false") == checkouts, path.name
        for action in re.findall(r"uses: (\S+)", text):
            if not action.startswith("./"):
                assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action), f"{path.name}: {action}"


def test_readme_is_declared_once_it_exists() -> None:
    assert ("readme" in PROJECT["project"]) == (ROOT / "README.md").exists()


def test_review_imports_no_torch() -> None:
    code = "import sys, bot.__main__; print(*{'torch', 'triton', 'kernels'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""
