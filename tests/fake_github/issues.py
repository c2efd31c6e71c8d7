"""Comments on pull requests, and reactions to them."""

from __future__ import annotations

import githubkit_schemas.v2026_03_10.models as m

from tests.fake_github import shapes, state
from tests.fake_github.app import NOT_FOUND, Call, Refused, handles, invalid
from tests.fake_github.filling import fill
from tests.fake_github.server import Answer

LARGEST = 65_536


def check_size(body: str) -> None:
    """GitHub counts UTF-16 units."""
    if len(body.encode("utf-16-le")) // 2 > LARGEST:
        raise invalid("Validation Failed", f"Body is too long (maximum is {LARGEST} characters)")


def _find(call: Call) -> state.Comment:
    wanted = int(call.values["comment_id"])
    for pr in call.repo.pulls.values():
        for one in pr.comments:
            if one.id == wanted:
                return one
    raise Refused(NOT_FOUND)


@handles("issues/list-comments", issues="read", pull_requests="read")
def list_comments(call: Call) -> Answer:
    page, link = call.page([shapes.comment(call.repo, c) for c in call.pull.comments])
    return Answer(200, page, link)


@handles("issues/list-comments-for-repo", issues="read", pull_requests="read")
def list_of_repository(call: Call) -> Answer:
    made = []
    for pr in call.repo.pulls.values():
        url = f"{shapes.URL}/{call.repo.full_name}/pull/{pr.number}#issuecomment-"
        for one in pr.comments:
            if one.updated_at >= call.query.get("since", ""):
                made.append(shapes.comment(call.repo, one) | {"html_url": f"{url}{one.id}"})
    page, link = call.page(made)
    return Answer(200, page, link)


@handles("issues/create-comment", issues="write", pull_requests="write")
def create(call: Call) -> Answer:
    if not call.body["body"].strip():
        raise invalid("Validation Failed", "Body cannot be blank")
    check_size(call.body["body"])
    made = state.Comment(call.fake.bot, call.body["body"], app=call.fake.app_id)
    call.pull.comments.append(made)
    return Answer(201, shapes.comment(call.repo, made))


@handles("issues/get-comment", issues="read", pull_requests="read")
def get(call: Call) -> Answer:
    return Answer(200, shapes.comment(call.repo, _find(call)))


@handles("issues/update-comment", issues="write", pull_requests="write")
def update(call: Call) -> Answer:
    found = _find(call)
    check_size(call.body["body"])
    found.edits.append(found.body)
    found.body, found.updated_at = call.body["body"], state.now()
    return Answer(200, shapes.comment(call.repo, found))


@handles("issues/delete-comment", issues="write", pull_requests="write")
def delete_comment(call: Call) -> Answer:
    found = _find(call)
    for pull in call.repo.pulls.values():
        pull.comments[:] = [one for one in pull.comments if one is not found]
    return Answer(204, None)


@handles("reactions/create-for-issue-comment", issues="write", pull_requests="write")
def react(call: Call) -> Answer:
    found, content = _find(call), call.body["content"]
    mine = next((r for r in found.reactions if r[1] is call.fake.bot and r[2] == content), None)
    if mine is None:
        found.reactions.append((state.number(), call.fake.bot, content))
    id_ = (mine or found.reactions[-1])[0]
    known = {"id": id_, "content": content, "user": shapes.user(call.fake.bot)}
    return Answer(200 if mine else 201, fill(m.Reaction, known))


@handles("reactions/list-for-issue-comment", issues="read", pull_requests="read")
def reactions(call: Call) -> Answer:
    made = [
        fill(m.Reaction, {"id": i, "content": c, "user": shapes.user(u)})
        for i, u, c in _find(call).reactions
    ]
    page, link = call.page(made)
    return Answer(200, page, link)
