"""Repositories: who may what, branches and what they require, statuses."""

from __future__ import annotations

from typing import Any

import githubkit_schemas.v2026_03_10.models as m

from tests.fake_github import shapes, state
from tests.fake_github.app import NOT_FOUND, Call, Refused, handles
from tests.fake_github.filling import fill
from tests.fake_github.server import Answer

# A role and the permission of old that it amounts to.
_PERMISSION = {
    "admin": "admin",
    "maintain": "write",
    "write": "write",
    "triage": "read",
    "read": "read",
    "none": "none",
}


@handles("repos/get", metadata="read")
def get(call: Call) -> Answer:
    return Answer(200, shapes.repository(call.repo))


@handles("repos/get-collaborator-permission-level", metadata="read")
def permission(call: Call) -> Answer:
    who = call.fake.users.get(call.values["username"])
    if who is None:
        raise Refused(NOT_FOUND)
    role = call.repo.roles.get(who.login, "read")
    known = {"permission": _PERMISSION[role], "role_name": role, "user": shapes.user(who)}
    return Answer(200, fill(m.RepositoryCollaboratorPermission, known))


@handles("repos/get-branch-rules", metadata="read")
def branch_rules(call: Call) -> Answer:
    wanted = call.repo.rulesets.get(call.values["branch"], [])
    checks = [{"context": c, **({"integration_id": app} if app else {})} for c, app in wanted]
    rule: dict[str, Any] = {
        "type": "required_status_checks",
        "parameters": {
            "required_status_checks": checks,
            "strict_required_status_checks_policy": False,
        },
        "ruleset_source_type": "Repository",
        "ruleset_source": call.repo.full_name,
        "ruleset_id": 1,
    }
    return Answer(200, [rule] if checks else [])


@handles("repos/get-status-checks-protection", administration="read")
def protection(call: Call) -> Answer:
    wanted = call.repo.protection.get(call.values["branch"])
    if wanted is None:
        raise Refused(NOT_FOUND)
    known = {
        "contexts": [c for c, _ in wanted],
        "checks": [{"context": c, "app_id": app} for c, app in wanted],
    }
    return Answer(200, fill(m.StatusCheckPolicy, known))


@handles("repos/compare-commits", contents="read")
def compare(call: Call) -> Answer:
    base, head = call.values["basehead"].split("...")
    commit = {"sha": call.repo.git.run("merge-base", base, head)}
    return Answer(200, fill(m.CommitComparison, {"merge_base_commit": commit}))


@handles("repos/list-commit-statuses-for-ref", statuses="read")
def statuses(call: Call) -> Answer:
    sha = call.values["ref"]
    page, link = call.page([shapes.status(s) for s in reversed(call.repo.statuses) if s.sha == sha])
    return Answer(200, page, link)


@handles("repos/create-commit-status", statuses="write")
def create_status(call: Call) -> Answer:
    body = call.body
    made = state.Status(
        call.values["sha"], body.get("context", "default"), body["state"], call.fake.bot
    )
    made.description, made.target_url = body.get("description"), body.get("target_url")
    call.repo.statuses.append(made)
    return Answer(201, shapes.status(made))
