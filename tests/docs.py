"""Writes the generated blocks of README.md: `python -m tests.docs`."""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from bot.cli.main import main as specbot
from bot.i18n.catalog import Catalog
from checks.registry import RULES
from kernels.bench.report import table
from tests.example.build import build

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
RESULTS = ROOT / "kernels" / "results" / "h100" / "bench.json"
# The rules of which the first finding is shown in full.
BLOCK = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def report() -> str:
    """The example's review up to what it says of the pull request's text."""
    with tempfile.TemporaryDirectory() as folder:
        example = build(Path(folder) / "example", "first-push")
        body = Path(folder) / "body.md"
        body.write_text(example.body, encoding="utf-8")
        out = Path(folder) / "report.txt"
        arguments = [
            "review",
            "--repo",
            str(example.repo),
            "--base",
            "base",
            "--head",
            "head",
            "--lang",
            "en",
        ]
        arguments += [
            "--title",
            example.title,
            "--body-file",
            str(body),
            "--target-branch",
            example.target_branch,
        ]
        with contextlib.redirect_stderr(io.StringIO()):
            specbot([*arguments, "--fail-on", "never", "-o", str(out)])
        text = out.read_text("utf-8")
    findings = text.partition("\nPull request conventions\n")[0]
    return f"```text\n{findings.rstrip()}\n```\n"


def rules() -> str:
    """One line a rule."""
    words = Catalog("en")
    rows = "".join(
        f"| `{r.ID}` | {words.summary(r.ID)} |\n" for r in sorted(RULES, key=lambda r: r.ID)
    )
    return f"| rule | what it finds |\n|---|---|\n{rows}"


def kernels() -> str:
    """The measured kernels, from the committed results of one real run."""
    if not RESULTS.is_file():
        return "No measured run is committed yet.\n"
    return "Measured by `specbot kernels bench` on one GPU:\n\n" + table(
        json.loads(RESULTS.read_text("utf-8"))
    )


GENERATED: dict[str, Callable[[], str]] = {"report": report, "rules": rules, "kernels": kernels}


def rewritten(text: str) -> str:
    """README's text with every generated block made anew."""
    return BLOCK.sub(lambda m: m[1] + GENERATED[m[2]]() + m[3], text)


if __name__ == "__main__":
    README.write_text(rewritten(README.read_text("utf-8")), encoding="utf-8")
    sys.stdout.write(f"{README.name}\n")
