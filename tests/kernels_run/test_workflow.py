"""gpu-kernels.yml: what it takes for ids, and what the job with the untrusted code may do."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORKFLOW = (ROOT / ".github/workflows/gpu-kernels.yml").read_text("utf-8")
SCRIPTS = re.findall(r"run: \|\n((?: {10}.*\n)+)", WORKFLOW)
COMMIT, UUID = "0123456789abcdef" * 2 + "01234567", "0b0e7a52-53cf-4d3e-9d0c-6f3a1b2c4d5e"


def refuses(**given):
    """Whether the first step stops."""
    ids = {"BASE": COMMIT, "HEAD": COMMIT, "REQUEST": UUID} | given
    script = textwrap.dedent(SCRIPTS[0])
    done = subprocess.run(["bash", "-e", "-c", script], env=ids, capture_output=True, check=False)
    return done.returncode != 0


def test_ids_pass():
    assert not refuses()


@pytest.mark.parametrize(
    "name, value",
    [
        ("BASE", "main"),
        ("HEAD", COMMIT[:-1]),
        ("HEAD", COMMIT.upper()),
        ("HEAD", f"{COMMIT}\n--upload-pack=x"),
        ("HEAD", f"{COMMIT} x"),
        ("BASE", "$(touch x)" + COMMIT),
        ("REQUEST", ""),
        ("REQUEST", "../../x"),
        ("REQUEST", UUID + ";id"),
    ],
)
def test_anything_else_is_refused(name, value):
    assert refuses(**{name: value})


def test_no_input_reaches_a_shell():
    for script in (*SCRIPTS, *re.findall(r"run: (?!\|)(.*)", WORKFLOW)):
        assert "${{" not in script


def test_the_untrusted_job_has_no_right():
    untrusted, trusted = WORKFLOW.split("\n  publish:\n")
    assert "    permissions: {}\n" in untrusted
    assert "secrets." not in WORKFLOW
    assert "contents: write" not in WORKFLOW
    assert "specbot" not in trusted
    assert "self-hosted" not in trusted


def test_zizmor_finds_nothing():
    zizmor = Path(sys.executable).with_name("zizmor")
    if not zizmor.is_file():
        pytest.skip("zizmor is not installed")
    done = subprocess.run(
        [zizmor, "--offline", "--min-severity=medium", ROOT / ".github"],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode()
