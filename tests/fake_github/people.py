"""What people do on GitHub: each changes the state and sends the webhook that GitHub would send."""

from __future__ import annotations

from typing import Any

import githubkit_schemas.v2026_03_10.models as m

from tests.fake_github import shapes, state, webhooks
from tests.fake_github.description import webhook_model
from tests.fake_github.filling import fill
from tests.fake_github.server import FakeGitHub


def open_pull(
    fake: FakeGitHub,
    repo: state.Repository,
    head: str,
    *,
    base: str = "main",
    title: str = "A change",
    body: str = "",
    author: str = "ada",
    draft: bool = False,
    fork: state.Repository | None = None,
    send: bool = True,
) -> state.Pull:
    """Open a pull request from branch `head` (of `fork`, or of `repo`) into `base`."""
    head_repo = fork or repo
    sha = head_repo.git.sha(f"refs/heads/{head}")
    with fake.lock:
        number = len(repo.pulls) + 1
        base_sha = repo.git.sha(f"refs/heads/{base}")
        pr = state.Pull(
            number,
            fake.user(author),
            title,
            body,
            base,
            head,
            head_repo,
            base_sha,
            sha,
            draft=draft,
        )
        repo.pulls[number] = pr
        _show_head(repo, pr)
    say(fake, repo, pr, "opened", send=send)
    return pr


def push(
    fake: FakeGitHub, repo: state.Repository, pr: state.Pull, sha: str, *, send: bool = True
) -> None:
    """Move the head of `pr` to commit `sha`, which is in the head's repository already."""
    with fake.lock:
        before, pr.head_sha = pr.head_sha, sha
        pr.head_repo.git.set_ref(f"refs/heads/{pr.head_ref}", sha)
        _show_head(repo, pr)
    say(fake, repo, pr, "synchronize", {"before": before, "after": sha}, send=send)


def _show_head(repo: state.Repository, pr: state.Pull) -> None:
    if pr.head_repo is not repo:
        repo.git.run("fetch", "-q", str(pr.head_repo.git.directory), pr.head_sha)
    repo.git.set_ref(f"refs/pull/{pr.number}/head", pr.head_sha)


def edit(
    fake: FakeGitHub,
    repo: state.Repository,
    pr: state.Pull,
    *,
    title: str | None = None,
    body: str | None = None,
) -> None:
    """Change the title or the text of `pr`."""
    changes: dict[str, Any] = {}
    with fake.lock:
        if title is not None:
            changes["title"] = {"from": pr.title}
            pr.title = title
        if body is not None:
            changes["body"] = {"from": pr.body}
            pr.body = body
    say(fake, repo, pr, "edited", {"changes": changes})


def close(fake: FakeGitHub, repo: state.Repository, pr: state.Pull) -> None:
    with fake.lock:
        pr.state = "closed"
    say(fake, repo, pr, "closed")


def say(
    fake: FakeGitHub,
    repo: state.Repository,
    pr: state.Pull,
    action: str,
    more: dict[str, Any] | None = None,
    *,
    send: bool = True,
    sender: str | None = None,
) -> state.Delivery:
    """Send the webhook `pull_request` with `action`."""
    known = {
        "action": action,
        "number": pr.number,
        "pull_request": shapes.pull(repo, pr),
        **(more or {}),
    }
    return webhook(fake, repo, "pull_request", known, sender or pr.user.login, send=send)


def comment(
    fake: FakeGitHub,
    repo: state.Repository,
    pr: state.Pull,
    author: str,
    body: str,
    *,
    send: bool = True,
) -> state.Comment:
    """Comment on `pr`."""
    with fake.lock:
        made = state.Comment(fake.user(author), body)
        pr.comments.append(made)
    known = {
        "action": "created",
        "issue": shapes.issue(repo, pr),
        "comment": shapes.comment(repo, made),
    }
    webhook(fake, repo, "issue_comment", known, author, send=send)
    return made


def webhook(
    fake: FakeGitHub,
    repo: state.Repository,
    event: str,
    known: dict[str, Any],
    sender: str,
    *,
    send: bool = True,
) -> state.Delivery:
    """Send the webhook `event`, with what every webhook of a repository has."""
    installation = fake.installation_of(repo)
    common: dict[str, Any] = {
        "repository": shapes.repository(repo, m.RepositoryWebhooks),
        "sender": shapes.user(fake.user(sender)),
    }
    if installation is not None:
        common["installation"] = {"id": installation.id, "node_id": f"MDI_{installation.id}"}
    data = fill(webhook_model(event, known.get("action")), common | known)
    return webhooks.deliver(fake, repo, event, data, send=send)
