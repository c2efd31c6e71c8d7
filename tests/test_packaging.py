"""What is installed is what the repository says: locks, versions, wheel contents, entry points."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
REQUIREMENTS = ROOT / "requirements"
LOCKS = ("build", "base", "dev", "kernels")


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


def wanted(name: str) -> set[str]:
    project = PROJECT["project"]
    extra = project["optional-dependencies"].get(name, [])
    return names(project["dependencies"]) | names(extra)


@pytest.mark.parametrize("name", ["base", "dev", "kernels"])
def test_lock_has_every_declared_dependency(name: str) -> None:
    assert wanted(name) <= set(locked(name))


def test_locks_agree_with_one_another() -> None:
    seen: dict[str, set[str]] = {}
    for name in LOCKS:
        for package, versions in locked(name).items():
            assert seen.setdefault(package, versions) == versions, package


@pytest.mark.parametrize("name", LOCKS)
def test_lock_holds_exact_pins_only(name: str) -> None:
    """No index host, no local path, no hash, no range: `locked` refuses any other line."""
    assert locked(name)


@pytest.mark.parametrize("package", ["torch", "triton", "pytest", "playwright", "githubkit"])
def test_base_install_stays_small(package: str) -> None:
    assert package not in locked("base")


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


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out)]
    subprocess.run([*command, str(ROOT)], check=True, capture_output=True, timeout=120)
    (path,) = out.glob("specbot-*.whl")
    with zipfile.ZipFile(path) as archive:
        return set(archive.namelist())


def test_wheel_has_every_file_of_the_packages(wheel: set[str]) -> None:
    tracked = subprocess.run(
        ["git", "ls-files", "bot", "checks", "kernels", "templates"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    assert set(tracked) <= wheel


def test_wheel_has_nothing_else(wheel: set[str]) -> None:
    folders = {name.split("/")[0] for name in wheel}
    assert folders == {"bot", "checks", "kernels", "templates", "specbot-0.1.0.dist-info"}


@pytest.mark.parametrize(
    "command", [["-m", "bot"], ["-c", "from bot.__main__ import main; main()"]]
)
def test_command_says_its_version(command: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, *command, "--version"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert PROJECT["project"]["version"] in done.stdout


def test_review_imports_no_torch() -> None:
    code = "import sys, bot.__main__; print(*{'torch', 'triton', 'kernels'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""
