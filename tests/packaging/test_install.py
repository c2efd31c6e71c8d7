"""The wheel as people install it: with uv, from an index, beside Hugging Face's `kernels`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.example.build import build

REQUIREMENTS = Path(__file__).resolve().parents[2] / "requirements"
# What a base install may weigh at most.
MOST_PACKAGES = 20
MOST_BYTES = 60_000_000


def run(*command: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The command, away from the checkout and its packages."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    arguments = [str(part) for part in command]
    return subprocess.run(
        arguments, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


def install(folder: Path, *distributions: object) -> Path:
    """An environment in `folder` with the distributions; skips the test without an index."""
    uv = (sys.executable, "-m", "uv")
    environment = folder / "environment"
    run(*uv, "venv", "--quiet", "--python", sys.executable, environment, cwd=folder)
    done = run(
        *uv,
        "pip",
        "install",
        "--quiet",
        "--python",
        environment / "bin/python",
        *distributions,
        cwd=folder,
    )
    if done.returncode and ("Failed to fetch" in done.stderr or "not found in" in done.stderr):
        pytest.skip("no package index is reachable, and this test installs from one")
    assert done.returncode == 0, done.stderr
    return environment / "bin"


@pytest.fixture(scope="module")
def base(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the programs of a base install are."""
    return install(tmp_path_factory.mktemp("base"), wheel)


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("example") / "repository"
    build(folder)
    return folder


def test_a_base_install_is_small(base: Path, tmp_path: Path) -> None:
    code = (
        "import json, sysconfig; from importlib.metadata import distributions;"
        "print(json.dumps([[d.name for d in distributions()], sysconfig.get_path('purelib')]))"
    )
    names, folder = json.loads(run(base / "python", "-I", "-c", code, cwd=tmp_path).stdout)
    files = [path for path in Path(folder).rglob("*") if path.is_file()]
    assert len(names) <= MOST_PACKAGES, names
    assert sum(path.stat().st_size for path in files) <= MOST_BYTES


def test_a_base_install_reviews_the_example(base: Path, example: Path, tmp_path: Path) -> None:
    done = run(
        base / "specbot",
        "review",
        "--repo",
        example,
        "--base",
        "base",
        "--head",
        "head",
        "--format",
        "json",
        "--lang",
        "en",
        cwd=tmp_path,
    )
    assert done.returncode == 1, done.stderr
    rules = {finding["rule"] for finding in json.loads(done.stdout)["findings"]}
    assert {"protocol.stale-fixture", "protocol.unmasked-pack"} <= rules


def test_it_explains_a_change_in_the_terminal(base: Path, example: Path, tmp_path: Path) -> None:
    done = run(
        base / "specbot", "analyze", "--repo", example, "--base", "base", "--head", "head",
        "--format", "terminal", "--lang", "en", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        ("analyze --base base --head head --format html", "pictures"),
        ("analyze --pr owner/name#1", "github"),
        ("review --base base --head head --records a b", "logprobs"),
        ("eval --history 1 --plot plot.png", "pictures"),
        ("ci report run", "ci"),
        ("ci collect --pr owner/name#1 -o run", "ci"),
        ("logprobs diff a b", "logprobs"),
        ("device test --head head", "device"),
        ("kernels run -o results", "kernels"),
        ("kernels diff a b", "logprobs"),
        ("serve", "service"),
        ("worker", "service"),
        ("app doctor", "service"),
    ],
)
def test_what_is_not_installed_is_one_sentence(
    base: Path, example: Path, command: str, extra: str
) -> None:
    done = run(base / "specbot", *command.split(), "--lang", "en", cwd=example)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    assert f"pip install 'specbot[{extra}]'" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_image_needs_no_compiler(machine: str, tmp_path: Path) -> None:
    """Of every package that the image installs there is a wheel for both machines; nothing is
    downloaded but their names."""
    locks = [part for name in ("service", "build") for part in ("-r", REQUIREMENTS / f"{name}.txt")]
    done = run(
        sys.executable, "-m", "uv", "pip", "install", "--dry-run", "--only-binary", ":all:",
        "--python-platform", f"{machine}-manylinux_2_28", "--python-version", "3.12",
        "--target", tmp_path, *locks, cwd=tmp_path,
    )  # fmt: skip
    if done.returncode and "Failed to fetch" in done.stderr:
        pytest.skip("no package index is reachable, and this test asks one")
    assert done.returncode == 0, done.stderr
    assert "bitwuzla" in done.stderr and "cryptography" in done.stderr


def test_it_stands_beside_the_kernels_of_hugging_face(
    wheel: Path, example: Path, tmp_path: Path
) -> None:
    """Both are imported, each is itself, and `specbot kernels run` and `review` work."""
    pytest.importorskip("torch", reason="the kernels run on torch, which is not installed")
    programs = install(tmp_path, wheel, "kernels")
    _add_torch_of_this_environment(programs)
    code = (
        "import kernels, specbot.kernels.accept, specbot.checks.review;"
        "assert hasattr(kernels, 'get_kernel'), kernels.__file__;"
        "assert specbot.kernels.OPS;"
        "assert specbot.kernels.__file__ != kernels.__file__"
    )
    imported = run(programs / "python", "-I", "-c", code, cwd=tmp_path)
    assert imported.returncode == 0, imported.stderr
    ran = run(
        programs / "specbot", "kernels", "run", "--device", "cpu", "--ops", "message",
        "-o", tmp_path / "results", cwd=tmp_path,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    results = json.loads((tmp_path / "results/results.json").read_text("utf-8"))
    assert {case["status"] for case in results["cases"]} == {"ok"}
    reviewed = run(
        programs / "specbot", "review", "--repo", example, "--base", "base", "--head", "head",
        cwd=tmp_path,
    )  # fmt: skip
    assert reviewed.returncode == 1, reviewed.stderr


def test_the_service_reviews_in_processes_of_the_installed_package(
    wheel: Path, example: Path, tmp_path: Path
) -> None:
    """The fork server is started by its module's name, which is another one when installed."""
    programs = install(tmp_path, wheel)
    _add_torch_of_this_environment(programs)
    code = (
        "import sys; from pathlib import Path; from specbot.bot.sandbox import client;"
        "from specbot.bot.git import Git, resolve; folder = Path(sys.argv[1]);"
        "facts = dict.fromkeys(('title', 'body', 'target', 'web', 'page'), '') | {'skips': []};"
        "compared = resolve(Git(folder), 'base', 'head', merge_base=True);"
        "result = client.run_review(folder, compared, facts, 'en', lambda: True);"
        "print(len(result['report']['findings']))"
    )
    done = run(programs / "python", "-I", "-c", code, example, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 5


def _add_torch_of_this_environment(programs: Path) -> None:
    """Torch takes gigabytes to install anew. A `.pth` line adds a folder behind the environment's
    own, and what `.pth` files say there does not count: the checkout stays out of sight."""
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    own = run(programs / "python", "-I", "-c", code, cwd=programs).stdout.strip()
    (Path(own) / "torch.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
