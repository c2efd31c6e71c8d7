"""The pages at the top say what is true: generated blocks are current, and links lead somewhere."""

import re
from pathlib import Path

import pytest

from tests.docs import BLOCK, GENERATED, README, ROOT, rewritten

_LINK = re.compile(r"\]\(([^)#\s]+)")
_PAGES = [*sorted(ROOT.glob("*.md")), ROOT / "templates/README.md", ROOT / "tests/rules/README.md"]


def test_generated_blocks_are_current():
    text = README.read_text("utf-8")
    assert {m[2] for m in BLOCK.finditer(text)} == set(GENERATED)
    assert rewritten(text) == text, "run `python -m tests.docs`"


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path):
    targets = [m[1] for m in _LINK.finditer(page.read_text("utf-8"))]
    files = [target for target in targets if "://" not in target]
    missing = [target for target in files if not (page.parent / target).exists()]
    assert not missing
