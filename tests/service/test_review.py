"""What a person sees: push to GitHub, read the review."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.fake_github import people
from tests.service.conftest import ROOT, ended, until


def test_the_review_is_what_the_dry_run_prints(fake, bot, lantern, example, tmp_path):
    bot.start()
    pull = people.open_pull(fake, lantern, "feature", title=example.title, body=example.body)
    until(lambda: ended(lantern, pull.head_sha))
    (review,) = pull.reviews
    (tmp_path / "body.md").write_text(example.body)
    command = [sys.executable, "-m", "bot", "review", "--repo", example.repo, "--base", example.base, "--head", example.head]
    command += ["--title", example.title, "--body-file", tmp_path / "body.md", "--target-branch", "main"]
    command += ["--format", "github", "--lang", "en", "--fail-on", "never"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    assert json.dumps(review.payload, ensure_ascii=False, indent=2).encode() + b"\n" == printed
    assert len(review.comments) > 5
    (check,) = lantern.check_runs
    assert (check.name, check.conclusion) == ("specbot/review", "failure")
    assert len(check.annotations) > 5
