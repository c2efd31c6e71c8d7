"""The site builds without a dead link, and every command in it works."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.cli.main import make_parser
from bot.settings import Settings
from checks.core.config import load
from tests.example.build import build
from tests.site.pages import SOURCES, write_site
from tests.site.reference import ROOT, Words
from tests.site.reference import pages as reference_pages

PAGES = SOURCES / "pages"
REFERENCE = ("command-line", "configuration", "service", "json")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What is installed and taken away, which `tests/packaging` does with the wheel.
INSTALLS = re.compile(r"uv tool install '?specbot(\[\w+\])?'?")


def is_chinese(page: Path) -> bool:
    return page.name.endswith(".zh.md")


def blocks(page: Path, language: str) -> list[str]:
    found = BLOCK.findall(page.read_text("utf-8"))
    return [text for name, text in found if name == language]


def pages() -> Iterator[Path]:
    yield from sorted(PAGES.rglob("*.md"))


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("material", reason="the site is built with mkdocs-material")
    write_site(tmp_path)
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict"]
    done = subprocess.run(
        [*command, "-f", str(tmp_path / "mkdocs.yml")],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stderr
    built = {path.relative_to(tmp_path / "html").as_posix() for path in tmp_path.rglob("*.html")}
    assert {
        "tutorial.html",
        "zh/tutorial.html",
        "reference/rules/protocol.unmasked-pack.html",
        *(f"{folder}reference/{name}.html" for folder in ("", "zh/") for name in REFERENCE),
    } <= built


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_reference_has_a_sentence_for_everything_and_none_for_nothing(language: str) -> None:
    """A missing one raises KeyError."""
    words = Words(language)
    made = reference_pages(words)
    assert set(made) == set(REFERENCE)
    assert words.all() == words.asked
    chinese = [name for name, text in made.items() if re.search(r"[\u4e00-\u9fff]", text)]
    assert chinese == ([] if language == "en" else list(made))


def test_what_is_said_of_keeping_is_what_the_settings_say() -> None:
    for page in (ROOT / "SECURITY.md", PAGES / "explanation/privacy.md"):
        text = page.read_text("utf-8")
        for name in ("keep_reports_days", "keep_steps_days"):
            days = Settings.model_fields[name].default
            assert f"{days:.0f} days (`{name}`)" in text, page


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `specbot` in it, this checkout's."""
    folder = tmp_path_factory.mktemp("bin")
    program = folder / "specbot"
    program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m bot "$@"\n')
    program.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    "page",
    [p for p in pages() if blocks(p, "sh") and not is_chinese(p)],
    ids=lambda p: p.relative_to(PAGES).as_posix(),
)
def test_every_command_runs(page: Path, programs: Path, tmp_path: Path) -> None:
    """In the bundled example's clone, one block after the other, as a reader does it. The pages in
    Chinese have the same commands: see the last test here."""
    if page.stem == "emulator" and not any(map(shutil.which, ("g++", "clang++"))):
        pytest.skip("no compiler here")
    clone = tmp_path / "lantern"
    build(clone)
    environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"}
    for block in blocks(page, "sh"):
        done = subprocess.run(
            ["bash", "-e", "-c", block],
            cwd=clone,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize(
    "page",
    [p for p in pages() if blocks(p, "console")],
    ids=lambda p: p.relative_to(PAGES).as_posix(),
)
def test_what_cannot_run_here_is_at_least_a_command(page: Path) -> None:
    """Commands that want GitHub, a GPU or a server: the parser takes them as they stand."""
    parser = make_parser("en")
    for line in "".join(blocks(page, "console")).splitlines():
        if INSTALLS.fullmatch(line):
            continue
        words = shlex.split(line)
        parser.parse_args(words[words.index("specbot") + 1 :])


def test_every_extra_that_a_page_names_exists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    named = set()
    for page in pages():
        named |= set(re.findall(r"specbot\[(\w+)\]", page.read_text("utf-8")))
    assert named and named <= set(project["optional-dependencies"])


def test_every_configuration_is_one() -> None:
    for page in pages():
        for block in blocks(page, "toml"):
            if not block.startswith("posting"):
                load(block)


def test_tutorial_and_guides_are_in_chinese() -> None:
    guides = {*PAGES.glob("tutorial*.md"), *(PAGES / "how-to").glob("*.md")}
    written = {page for page in guides if not is_chinese(page)}
    assert {page.with_name(f"{page.stem}.zh.md") for page in written} == guides - written


@pytest.mark.parametrize(
    "page",
    [p for p in pages() if is_chinese(p)],
    ids=lambda p: p.relative_to(PAGES).as_posix(),
)
def test_a_page_in_chinese_has_the_same_commands(page: Path) -> None:
    english = page.with_name(page.name.replace(".zh.md", ".md"))
    for language in ("sh", "console"):
        assert blocks(page, language) == blocks(english, language)
