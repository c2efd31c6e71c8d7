"""GitHub's JSON for the objects of `state`."""

from __future__ import annotations

import hashlib
from typing import Any

import githubkit_schemas.v2026_03_10.models as m

from tests.fake_github import state
from tests.fake_github.filling import EPOCH, fill

Json = dict[str, Any]
URL = "https://github.example"


def user(who: state.User) -> Json:
    node = f"U_{who.id}"
    return fill(
        m.SimpleUser,
        {
            "login": who.login,
            "id": who.id,
            "node_id": node,
            "type": who.type,
            "html_url": f"{URL}/{who.login}",
        },
    )


def repository(repo: state.Repository, model: Any = m.FullRepository) -> Json:
    return fill(
        model,
        {
            "id": repo.id,
            "node_id": f"R_{repo.id}",
            "name": repo.name,
            "full_name": repo.full_name,
            "owner": user(repo.owner),
            "private": repo.private,
            "fork": repo.fork,
            "default_branch": repo.default_branch,
            "html_url": f"{URL}/{repo.full_name}",
            "url": f"{URL}/repos/{repo.full_name}",
            **dict.fromkeys(("created_at", "updated_at", "pushed_at"), EPOCH),
        },
    )


def pull(repo: state.Repository, pr: state.Pull, model: Any = m.PullRequest) -> Json:
    counts: Json = {}
    if model is m.PullRequest:
        # A list of pull requests has no counts.
        commits = repo.git.run("rev-list", "--count", f"{pr.base_sha}..{pr.head_sha}")
        counts = {
            "commits": int(commits),
            "comments": len(pr.comments),
            "review_comments": sum(len(thread.comments) for thread in pr.threads),
        }
    return fill(
        model,
        {
            **counts,
            "merged_at": pr.merged_at,
            "id": pr.id,
            "node_id": f"PR_{pr.id}",
            "number": pr.number,
            "state": pr.state,
            "title": pr.title,
            "body": pr.body or None,
            "user": user(pr.user),
            "draft": pr.draft,
            "locked": False,
            "html_url": f"{URL}/{repo.full_name}/pull/{pr.number}",
            "url": f"{URL}/repos/{repo.full_name}/pulls/{pr.number}",
            "created_at": pr.created_at,
            "updated_at": pr.created_at,
            "author_association": pr.association,
            "labels": [label(name) for name in pr.labels],
            "head": _end(pr.head_repo, pr.head_ref, pr.head_sha),
            "base": _end(repo, pr.base_ref, pr.base_sha),
        },
    )


def _end(repo: state.Repository | None, ref: str, sha: str) -> Json:
    """One side of a pull request; a fork may be gone, and its account too."""
    if repo is None:
        return {"label": f"unknown:{ref}", "ref": ref, "sha": sha, "user": None, "repo": None}
    short = {"label": f"{repo.owner.login}:{ref}", "ref": ref, "sha": sha, "user": user(repo.owner)}
    return short | {"repo": repository(repo, m.Repository)}


def label(name: str) -> Json:
    return {
        "id": 1,
        "node_id": "LA_1",
        "url": f"{URL}/labels",
        "name": name,
        "color": "ffffff",
        "default": False,
        "description": None,
    }


def issue(repo: state.Repository, pr: state.Pull, model: Any = m.Issue) -> Json:
    link = {"url": "", "html_url": "", "diff_url": "", "patch_url": ""}
    return fill(
        model,
        {
            "id": pr.id,
            "number": pr.number,
            "state": pr.state,
            "title": pr.title,
            "body": pr.body,
            "user": user(pr.user),
            "labels": [label(name) for name in pr.labels],
            "pull_request": link,
            "created_at": pr.created_at,
            "updated_at": pr.created_at,
            "author_association": pr.association,
        },
    )


def comment(repo: state.Repository, one: state.Comment, model: Any = m.IssueComment) -> Json:
    return fill(
        model,
        {
            "id": one.id,
            "node_id": one.node_id,
            "user": user(one.user),
            "body": one.body,
            "created_at": one.created_at,
            "updated_at": one.updated_at,
            "html_url": f"{URL}/{repo.full_name}/issues#issuecomment-{one.id}",
            "author_association": "NONE",
        },
    )


def review(pr: state.Pull, one: state.Review) -> Json:
    return fill(
        m.PullRequestReview,
        {
            "id": one.id,
            "node_id": one.node_id,
            "user": user(one.user),
            "body": one.body,
            "state": one.state,
            "commit_id": one.commit_id,
            "submitted_at": one.submitted_at,
            "html_url": f"{URL}/pull/{pr.number}#pullrequestreview-{one.id}",
            "author_association": "NONE",
        },
    )


def review_comment(one: state.ReviewComment, model: Any = m.PullRequestReviewComment) -> Json:
    known = {
        "id": one.id,
        "node_id": one.node_id,
        "user": user(one.user),
        "body": one.body,
        "path": one.path,
        "line": one.line,
        "side": one.side,
        "start_line": one.start_line,
        "start_side": one.start_side,
        "commit_id": one.commit_id,
        "original_commit_id": one.commit_id,
        "pull_request_review_id": one.review_id,
        "created_at": one.created_at,
        "updated_at": one.created_at,
        "author_association": "NONE",
    }
    return fill(model, known | ({"in_reply_to_id": one.in_reply_to} if one.in_reply_to else {}))


def check_run(one: state.CheckRun, model: Any = m.CheckRun) -> Json:
    return fill(
        model,
        {
            "id": one.id,
            "node_id": one.node_id,
            "name": one.name,
            "head_sha": one.head_sha,
            "status": one.status,
            "conclusion": one.conclusion,
            "external_id": one.external_id,
            "started_at": one.started_at,
            "completed_at": one.completed_at,
            "app": {"id": one.app},
            "output": {
                "title": one.title,
                "summary": one.summary,
                "text": one.text,
                "annotations_count": len(one.annotations),
            },
        },
    )


def status(one: state.Status) -> Json:
    return fill(
        m.Status,
        {
            "id": one.id,
            "context": one.context,
            "state": one.state,
            "description": one.description,
            "target_url": one.target_url,
            "creator": user(one.creator),
            "created_at": one.created_at,
            "updated_at": one.created_at,
        },
    )


def run(repo: state.Repository, one: state.WorkflowRun) -> Json:
    return fill(
        m.WorkflowRun,
        {
            "id": one.id,
            "name": one.name,
            "path": one.path,
            "head_sha": one.head_sha,
            "head_branch": one.head_branch,
            "event": one.event,
            "status": one.status,
            "conclusion": one.conclusion,
            "run_attempt": one.attempt,
            "workflow_id": repo.workflows.get(one.path, 0),
            "created_at": one.created_at,
            "updated_at": one.created_at,
            "display_title": one.display_title or one.name,
            "pull_requests": [],
            "repository": repository(repo, m.MinimalRepository),
            "head_repository": repository(repo, m.MinimalRepository),
        },
    )


def job(run_: state.WorkflowRun, one: state.Job) -> Json:
    return fill(
        m.Job,
        {
            "id": one.id,
            "run_id": run_.id,
            "run_attempt": one.attempt,
            "name": one.name,
            "head_sha": run_.head_sha,
            "head_branch": run_.head_branch,
            "workflow_name": run_.name,
            "html_url": f"{URL}/runs/{run_.id}/job/{one.id}",
            "status": one.status,
            "conclusion": one.conclusion,
            "started_at": one.started_at,
            "created_at": one.started_at,
            "completed_at": one.completed_at,
            "runner_name": one.runner_name,
            "runner_id": 1 if one.runner_name else 0,
            "steps": one.steps,
            "labels": ["self-hosted"],
        },
    )


def artifact(repo: state.Repository, run_: state.WorkflowRun, one: state.Artifact) -> Json:
    return fill(
        m.Artifact,
        {
            "id": one.id,
            "name": one.name,
            "size_in_bytes": len(one.data),
            "expired": one.expired,
            "created_at": run_.created_at,
            "archive_download_url": f"{URL}/repos/{repo.full_name}/actions/artifacts/{one.id}/zip",
            "digest": f"sha256:{hashlib.sha256(one.data).hexdigest()}",
            "workflow_run": {"id": run_.id, "head_sha": run_.head_sha},
        },
    )


def installation(one: state.Installation, app_id: int) -> Json:
    return fill(
        m.Installation,
        {
            "id": one.id,
            "account": user(one.account),
            "app_id": app_id,
            "permissions": one.permissions,
            "repository_selection": "selected",
            "created_at": EPOCH,
            "updated_at": EPOCH,
            "suspended_at": EPOCH if one.suspended else None,
        },
    )


def delivery(one: state.Delivery, model: Any = m.HookDeliveryItem) -> Json:
    return fill(
        model,
        {
            "id": one.id,
            "guid": one.guid,
            "event": one.event,
            "action": one.action,
            "status": one.status,
            "status_code": one.status_code,
            "redelivery": one.redelivery,
            "delivered_at": one.delivered_at,
            "installation_id": one.installation,
            "repository_id": one.repository,
        },
    )
