"""The bundled example is what EXPECTED.md says it is: its real tests are run, in every variant."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import tree_sitter
import tree_sitter_cuda

from tests.example.build import HERE, VARIANTS, build

EXPECTED = (HERE / "EXPECTED.md").read_text("utf-8")


@cache
def built(root: Path, variant: str) -> Path:
    return build(root / variant, variant).repo


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("example")


def table(header: str) -> Iterator[list[str]]:
    """The cells of the table of EXPECTED.md that starts with `header`, without backticks."""
    lines = EXPECTED[EXPECTED.index(f"| {header} |") :].split("\n\n")[0].splitlines()
    for line in lines[2:]:
        yield [cell.strip().strip("`") for cell in line.strip("|").split("|")]


def run_tests(repo: Path, report: Path) -> dict[str, tuple[str, str]]:
    """Every failing test of `repo`: where it raised and what."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
    env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    options = ["-p", "no:cacheprovider", "-q", "--tb=short"]
    options += [f"--junitxml={report}", "-o", "junit_family=xunit1"]
    done = subprocess.run(
        [sys.executable, "-B", "-m", "pytest", *options],
        cwd=repo,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    failures = {}
    for case in ET.parse(report).iter("testcase"):
        failure = case.find("failure")
        if failure is None:
            continue
        module = case.get("file", "")
        name = case.get("classname", "").removeprefix(module.removesuffix(".py").replace("/", "."))
        test = "::".join(part for part in (module, name.strip("."), case.get("name")) if part)
        places = re.findall(r"^(\S+\.py):(\d+): ", failure.text or "", re.MULTILINE)
        message = failure.get("message", "").splitlines()[0]
        failures[test] = (":".join(places[-1]), message)
    return failures


@pytest.mark.parametrize("variant", VARIANTS)
def test_variant_fails_where_expected(variant: str, root: Path, tmp_path: Path) -> None:
    expected = {}
    if variant == "first-push":
        expected = {test: (where, error) for test, where, error in table("test | raised at")}
    assert run_tests(built(root, variant), tmp_path / "report.xml") == expected


def test_every_variant_is_described() -> None:
    assert {row[0] for row in table("variant")} == set(VARIANTS)


def test_base_passes(root: Path, tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    source = built(root, "first-push")
    subprocess.run(["git", "clone", "-q", "-b", "base", str(source), str(repo)], check=True)
    assert run_tests(repo, tmp_path / "report.xml") == {}


def test_stale_writes_stand_where_expected(root: Path) -> None:
    repo = built(root, "first-push")
    rows = list(table("write"))
    assert len(rows) == 5
    for where, value, test in rows:
        path, line = where.split(":")
        lines = (repo / path).read_text("utf-8").splitlines()
        text = lines[int(line) - 1]
        assert re.search(rf"output_tokens\[1, 0\].*\b{value}\)*$", text), text
        above = [at for at in lines[: int(line)] if at.strip().startswith("def test_")]
        assert f"def {test.split('`')[0]}(" in above[-1]


def test_lines_named_for_step_idx(root: Path) -> None:
    repo = built(root, "first-push")
    path = repo
    for _, writer, _, readers in table("buffer"):
        for name, line in re.findall(r"(\w+\.cu|\w+\.cc)?`?:(\d+)", f"{writer} {readers}"):
            path = next(iter(repo.rglob(name))) if name else path
            text = path.read_text("utf-8").splitlines()[int(line) - 1]
            assert "history" in text, (path, line)


@pytest.mark.parametrize("variant", VARIANTS)
def test_device_code_parses_cleanly(variant: str, root: Path) -> None:
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))
    repo = built(root, variant)
    files = [p for p in sorted(repo.rglob("custom_ops/**/*")) if p.is_file()]
    assert len(files) > 15
    assert [str(p) for p in files if parser.parse(p.read_bytes()).root_node.has_error] == []


def test_commits_are_the_same_everywhere(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_AUTHOR_NAME", "someone else")
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home/.gitconfig").write_text("[core]\nautocrlf = true\n[commit]\ngpgsign = true\n")
    first = build(tmp_path / "one", "merged")
    again = build(tmp_path / "one", "merged")
    assert (first.base, first.head) == (again.base, again.head)
    assert (first.base, first.head) == ids(built(root, "merged"))


def ids(repo: Path) -> tuple[str, str]:
    out = subprocess.run(
        ["git", "-C", str(repo), "rev-parse", "base", "head"],
        capture_output=True,
        text=True,
        check=True,
    )
    base, head = out.stdout.split()
    return base, head


def test_build_refuses_a_folder_that_is_not_its_own(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("keep me")
    with pytest.raises(SystemExit, match="not empty"):
        build(tmp_path)
    assert (tmp_path / "precious.txt").exists()
