"""Who must approve a change: by what the log says, or by the base's CODEOWNERS."""

from __future__ import annotations

import pytest

from bot.i18n.catalog import Catalog
from bot.reports.ci.phrasing import advice
from checks.ci.analyse import analyse
from checks.ci.code_owners import owned_files
from checks.core.tree import MemoryTree
from tests.ci.runs import Files, change, job, run

OWNERS = """* @octo/all
# the engine
/engine/spec/ @ada @grace # two of them
*.md
/docs/* @writer
kernels @octo/kernels
"""
BASE = {".github/CODEOWNERS": OWNERS, "engine/spec/a.py": "A = 1\n", "setup.py": "S = 1\n"}
HEAD = {
    ".github/CODEOWNERS": OWNERS.replace("@ada", "@mallory"),
    "engine/spec/a.py": "A = 2\n",
    "setup.py": "S = 2\n",
}


def told(log, language):
    """What is advised on a job that waits for an approval."""
    waiting = job("approval", "Approval", log="approval")
    report = analyse(run(waiting), Files(approval=log), change(BASE, HEAD))
    (failed,) = report.failed
    words = Catalog(language)
    return [line for failure in failed.failures for line in advice(failure.suggestions, words)]


@pytest.mark.parametrize(
    ("path", "owners"),
    [
        ("setup.py", ("@octo/all",)),
        ("engine/spec/deep/a.py", ("@ada", "@grace")),
        ("other/engine/spec/a.py", ("@octo/all",)),
        ("docs/a.rst", ("@writer",)),
        ("docs/deep/a.rst", ("@octo/all",)),
        ("engine/spec/kernels/a.cu", ("@octo/kernels",)),
        ("README.md", None),
    ],
)
def test_the_last_line_that_matches_decides(path, owners):
    groups = owned_files(MemoryTree({"CODEOWNERS": OWNERS.encode()}), [path])
    assert [group.owners for group in groups] == ([owners] if owners else [])


def test_without_the_file_nobody_owns_anything():
    assert owned_files(MemoryTree({}), ["a.py"]) == []


def test_the_owners_by_the_base_are_named_where_the_log_names_nobody():
    text = "\n".join(told("1 approving review is required\n", "en"))
    assert "@ada, @grace" in text and "engine/spec/a.py" in text
    assert "@octo/all" in text and "setup.py" in text
    assert "@mallory" not in text


def test_a_log_that_names_people_is_told_with_the_files_that_it_means():
    log = "0. You must have one RD (linus(lin)) approval for modifying [engine/spec engine/ops].\n"
    for language, word in (("en", "must approve"), ("zh", "审批")):
        (text,) = told(log, language)
        assert "@linus" in text and word in text and "engine/spec/a.py" in text
        assert "setup.py" not in text and "@ada" not in text
