"""Which pull requests a change names: never itself, and no example of a template."""

from __future__ import annotations

import pytest

from bot.git import Git
from bot.git.references import references
from bot.git.revisions import Range
from checks.core.change import PullRequest

TEMPLATE = "> :bulb: For example, [Cherry-Pick][CI] Add check(#5191)\n"


@pytest.mark.parametrize(
    ("title", "subject", "named"),
    [
        # PaddlePaddle/FastDeploy#7180: the title on GitHub, and the commit that it became.
        ("[XPU] Unify branches.(#6947)", "[XPU] Unify branches.(#6947) (#7180)", [6947]),
        ("", "[XPU] Unify branches.(#6947) (#7180)", [6947]),
        ("[Cherry-Pick] Fix it (#7172)", "fix codestyle", [7172]),
        ("Fix it", "Fix it (#7)", []),
    ],
)
def test_the_own_number_is_the_subjects(repo, title, subject, named):
    repo.commit({".github/pull_request_template.md": TEMPLATE})
    repo.commit({"a.py": "x = 1\n"})
    git = Git(repo.path)
    base, head = repo.git("rev-parse", "HEAD~").strip(), repo.git("rev-parse", "HEAD").strip()
    body = "💡 For example, [Cherry-Pick][CI] Add check(#5191)\n"
    pull = PullRequest(title, body, known=bool(title))
    found = references(git, Range(base, head), pull, subject, subject, ())
    assert [reference.number for reference in found] == named


def test_an_issue_that_is_closed(repo):
    repo.commit({"a.py": "x = 1\n"})
    repo.commit({"a.py": "x = 2\n"})
    base, head = repo.git("rev-parse", "HEAD~").strip(), repo.git("rev-parse", "HEAD").strip()
    pull = PullRequest("Fix it", "Fixes #12, see #13.", known=True)
    found = references(Git(repo.path), Range(base, head), pull, "", "Fix it", ())
    assert [(r.number, r.how) for r in found] == [(12, "closes"), (13, "mentioned")]
