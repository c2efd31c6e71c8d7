"""The part of GitHub's GraphQL that a bot needs.

A field that the schema does not have is an error, as on GitHub.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.fake_github import state
from tests.fake_github.app import allowed, reachable
from tests.fake_github.server import Answer, FakeGitHub

_TOKEN = re.compile(r'\s*(?:#[^\n]*\n\s*)*(\.\.\.|[{}():$!=\[\],]|"(?:[^"\\]|\\.)*"|[\w-]+)')
_CLASSIFIERS = {"ABUSE", "DUPLICATE", "OFF_TOPIC", "OUTDATED", "RESOLVED", "SPAM"}


class Refusal(Exception):
    """An entry of GraphQL's `errors`."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.entry = {"type": kind, "message": message}


@dataclass
class Selection:
    """`alias: name(arguments) { selections }`, or a fragment on type `on`."""

    name: str
    alias: str
    arguments: dict[str, Any] = field(default_factory=dict)
    selections: list[Selection] = field(default_factory=list)
    on: str = ""


@dataclass
class Thing:
    """An object of the schema: its type, and its fields as values or as functions of their
    arguments."""

    type: str
    fields: dict[str, Any]


class Parser:
    """Selections of the one operation in a document, with `variables` put in."""

    def __init__(self, document: str, variables: dict[str, Any]) -> None:
        self.tokens = _TOKEN.findall(document)
        self.at = 0
        self.variables = variables

    def next(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1]

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def operation(self) -> tuple[str, list[Selection]]:
        kind = "query" if self.peek() == "{" else self.next()
        while self.peek() != "{":
            self.next()
        return kind, self.selections()

    def selections(self) -> list[Selection]:
        assert self.next() == "{"
        made: list[Selection] = []
        while self.peek() != "}":
            made.append(self.selection())
        self.next()
        return made

    def selection(self) -> Selection:
        name = self.next()
        if name == "...":
            assert self.next() == "on"
            type_ = self.next()
            return Selection("", "", {}, self.selections(), type_)
        made = Selection(name, name)
        if self.peek() == ":":
            self.next()
            made.name = self.next()
        if self.peek() == "(":
            self.next()
            made.arguments = self.pairs(")")
        if self.peek() == "{":
            made.selections = self.selections()
        return made

    def pairs(self, end: str) -> dict[str, Any]:
        made: dict[str, Any] = {}
        while self.peek() != end:
            if self.peek() == ",":
                self.next()
                continue
            name = self.next()
            assert self.next() == ":"
            made[name] = self.value()
        self.next()
        return made

    def value(self) -> Any:
        token = self.next()
        if token == "$":
            return self.variables.get(self.next())
        if token == "{":
            return self.pairs("}")
        if token == "[":
            listed = []
            while self.peek() != "]":
                listed.append(self.value())
            self.next()
            return listed
        if token.startswith('"'):
            return json.loads(token)
        return {"true": True, "false": False, "null": None}.get(
            token, int(token) if token.lstrip("-").isdigit() else token
        )


def answer(fake: FakeGitHub, value: str, body: bytes) -> Answer:
    token = fake.token(value)
    if token is None:
        return Answer(401, {"message": "Bad credentials"})
    asked = json.loads(body)
    parser = Parser(asked["query"], asked.get("variables") or {})
    kind, selections = parser.operation()
    root = (
        Thing("Mutation", _mutations(fake, token))
        if kind == "mutation"
        else Thing("Query", _queries(fake, token))
    )
    with fake.lock:
        try:
            return Answer(200, {"data": _resolve(fake, root, selections)})
        except Refusal as refusal:
            return Answer(200, {"data": None, "errors": [refusal.entry]})


def _resolve(fake: FakeGitHub, thing: Thing, selections: list[Selection]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for one in selections:
        if one.on:
            made |= _resolve(fake, thing, one.selections) if one.on == thing.type else {}
            continue
        if one.name == "__typename":
            made[one.alias] = thing.type
            continue
        if one.name not in thing.fields:
            message = f"Field '{one.name}' doesn't exist on type '{thing.type}'"
            fake.violations.append(f"GraphQL: {message}")
            raise Refusal("undefinedField", message)
        found = thing.fields[one.name]
        made[one.alias] = _value(
            fake, found(**one.arguments) if callable(found) else found, one.selections
        )
    return made


def _value(fake: FakeGitHub, found: Any, selections: list[Selection]) -> Any:
    if isinstance(found, Thing):
        return _resolve(fake, found, selections)
    if isinstance(found, list):
        return [_value(fake, item, selections) for item in found]
    return found


def _connection(
    type_: str, items: list[Thing], first: int | None, last: int | None, after: str | None
) -> Thing:
    if first is None and last is None:
        raise Refusal(
            "MISSING_PAGINATION_BOUNDARIES",
            f"You must provide a `first` or `last` value to paginate {type_}.",
        )
    size = first or last or 0
    if not 0 < size <= 100:
        raise Refusal(
            "EXCESSIVE_PAGINATION",
            f"Requesting {size} records exceeds the `first` limit of 100 records.",
        )
    start = int(after or 0) if first else max(0, len(items) - size)
    end = start + size
    info = Thing(
        "PageInfo", {"hasNextPage": end < len(items), "endCursor": str(min(end, len(items)))}
    )
    return Thing(type_, {"nodes": items[start:end], "pageInfo": info, "totalCount": len(items)})


def _queries(fake: FakeGitHub, token: state.Token) -> dict[str, Any]:
    def repository(owner: str, name: str) -> Thing:
        repo = fake.repositories.get(f"{owner}/{name}")
        if repo is None or not reachable(fake, token, repo):
            raise Refusal(
                "NOT_FOUND", f"Could not resolve to a Repository with the name '{owner}/{name}'."
            )

        def pulls(
            states: list[str], orderBy: dict[str, str], first: Any = None, after: Any = None
        ) -> Thing:
            listed = [p for p in repo.pulls.values() if p.state.upper() in states]
            listed.sort(key=lambda p: p.created_at, reverse=orderBy["direction"] == "DESC")
            nodes = [_pull(fake, repo, p.number) for p in listed]
            return _connection("PullRequestConnection", nodes, first, None, after)

        one = {"pullRequest": lambda number: _pull(fake, repo, number), "pullRequests": pulls}
        return Thing("Repository", one | {"nameWithOwner": repo.full_name})

    return {"repository": repository, "viewer": Thing("User", {"login": fake.bot.login})}


def _pull(fake: FakeGitHub, repo: state.Repository, number: int) -> Thing:
    pr = repo.pulls.get(number)
    if pr is None:
        raise Refusal(
            "NOT_FOUND", f"Could not resolve to a PullRequest with the number of {number}."
        )

    def reviews(first: Any = None, last: Any = None, after: Any = None) -> Thing:
        return _connection(
            "PullRequestReviewConnection",
            [_review(fake, r) for r in pr.reviews],
            first,
            last,
            after,
        )

    def threads(first: Any = None, last: Any = None, after: Any = None) -> Thing:
        items = [_thread(fake, pr, t) for t in pr.threads]
        return _connection("PullRequestReviewThreadConnection", items, first, last, after)

    def comments(first: Any = None, last: Any = None, after: Any = None) -> Thing:
        return _connection(
            "IssueCommentConnection", [_comment(fake, c) for c in pr.comments], first, last, after
        )

    def commits(first: Any = None, last: Any = None) -> Thing:
        commit = Thing(
            "Commit", {"oid": pr.head_sha, "statusCheckRollup": lambda: _rollup(repo, pr)}
        )
        node = Thing("PullRequestCommit", {"commit": commit})
        return _connection("PullRequestCommitConnection", [node], first, last, None)

    fields = {
        "id": f"PR_{pr.id}",
        "number": pr.number,
        "headRefOid": pr.head_sha,
        "updatedAt": pr.created_at,
        "title": pr.title,
        "isDraft": pr.draft,
        "author": Thing("User", {"login": pr.user.login}),
        "reviewDecision": pr.decision,
    }
    return Thing(
        "PullRequest",
        fields
        | {"reviews": reviews, "reviewThreads": threads, "comments": comments, "commits": commits},
    )


def _authored(fake: FakeGitHub, one: Any, type_: str) -> dict[str, Any]:
    """What reviews and comments have in common. A bot's login has no [bot] here."""
    login = one.user.login.removesuffix("[bot]")
    return {
        "id": one.node_id,
        "databaseId": one.id,
        "body": one.body,
        "url": f"https://github.example/comments/{one.id}",
        "viewerDidAuthor": one.user is fake.bot,
        "author": Thing(one.user.type, {"login": login}),
        "isMinimized": one.minimized is not None,
        "minimizedReason": one.minimized and one.minimized.lower(),
    }


def _review(fake: FakeGitHub, one: state.Review) -> Thing:
    commit = Thing("Commit", {"oid": one.commit_id})
    return Thing(
        "PullRequestReview", _authored(fake, one, "") | {"state": one.state, "commit": commit}
    )


def _comment(fake: FakeGitHub, one: Any) -> Thing:
    return Thing("IssueComment", _authored(fake, one, ""))


def _thread(fake: FakeGitHub, pr: state.Pull, one: state.Thread) -> Thing:
    def comments(first: Any = None, last: Any = None, after: Any = None) -> Thing:
        items = [Thing("PullRequestReviewComment", _authored(fake, c, "")) for c in one.comments]
        return _connection("PullRequestReviewCommentConnection", items, first, last, after)

    top, resolver = one.comments[0], one.resolved_by
    outdated = top.commit_id != pr.head_sha
    fields: dict[str, Any] = {
        "id": one.node_id,
        "isResolved": one.resolved_by is not None,
        "resolvedBy": (
            resolver and resolver.type == "User" and Thing("User", {"login": resolver.login})
        )
        or None,
        "path": top.path,
        # GitHub follows a line as long as it can; here no line outlives a push.
        "line": None if outdated else top.line,
        "originalLine": top.line,
        "isOutdated": outdated,
    }
    return Thing("PullRequestReviewThread", fields | {"comments": comments})


def _rollup(repo: state.Repository, pr: state.Pull) -> Thing | None:
    """Checks, jobs (each is a check too) and statuses of the head; null before the first."""
    required = repo.required(pr.base_ref)

    def needed(name: str, app: int | None) -> Callable[..., bool]:
        return lambda pullRequestNumber: any(c == name and a in (None, app) for c, a in required)

    items: list[Thing] = []
    for run in (c for c in repo.check_runs if c.head_sha == pr.head_sha):
        suite = Thing("CheckSuite", {"app": Thing("App", {"databaseId": run.app})})
        fields = {
            "databaseId": run.id,
            "name": run.name,
            "status": run.status.upper(),
            "detailsUrl": run.details_url,
        }
        fields |= {"completedAt": run.completed_at}
        fields |= {"conclusion": run.conclusion and run.conclusion.upper(), "checkSuite": suite}
        items.append(Thing("CheckRun", fields | {"isRequired": needed(run.name, run.app)}))
    for job in (j for r in repo.runs if r.head_sha == pr.head_sha for j in r.jobs):
        fields = {
            "databaseId": job.id,
            "name": job.name,
            "status": job.status.upper(),
            "completedAt": job.completed_at,
        }
        fields |= {"conclusion": job.conclusion and job.conclusion.upper()}
        items.append(Thing("CheckRun", fields | {"isRequired": needed(job.name, None)}))
    for status in (s for s in repo.statuses if s.sha == pr.head_sha):
        fields = {
            "context": status.context,
            "state": status.state.upper(),
            "targetUrl": status.target_url,
        }
        fields |= {"createdAt": status.created_at}
        items.append(Thing("StatusContext", fields | {"isRequired": needed(status.context, None)}))

    def contexts(first: Any = None, last: Any = None, after: Any = None) -> Thing:
        return _connection("StatusCheckRollupContextConnection", items, first, last, after)

    return Thing("StatusCheckRollup", {"state": "PENDING", "contexts": contexts}) if items else None


def _mutations(fake: FakeGitHub, token: state.Token) -> dict[str, Any]:
    def permitted(**permissions: str) -> None:
        if not all(allowed(token, name, level) for name, level in permissions.items()):
            raise Refusal("FORBIDDEN", "Resource not accessible by integration")

    def minimize(input: dict[str, Any]) -> Thing:  # the name that GraphQL has for it
        permitted(pull_requests="write")
        if input["classifier"] not in _CLASSIFIERS:
            raise Refusal(
                "argumentLiteralsIncompatible",
                f"{input['classifier']} is no ReportedContentClassifiers",
            )
        found = _subject(fake, input["subjectId"])
        found.minimized = input["classifier"]
        done = Thing(
            "PullRequestReview",
            {"isMinimized": True, "minimizedReason": input["classifier"].lower()},
        )
        return Thing("MinimizeCommentPayload", {"minimizedComment": done})

    def resolve(input: dict[str, Any]) -> Thing:
        # https://github.com/orgs/community/discussions/44650
        permitted(pull_requests="write", contents="write")
        repo, pr, found = next(
            (t for t in _threads(fake) if t[2].node_id == input["threadId"]), (None, None, None)
        )
        if found is None or pr is None or repo is None:
            raise Refusal(
                "NOT_FOUND",
                f"Could not resolve to a node with the global id of '{input['threadId']}'",
            )
        found.resolved_by = fake.bot
        return Thing("ResolveReviewThreadPayload", {"thread": _thread(fake, pr, found)})

    return {"minimizeComment": minimize, "resolveReviewThread": resolve}


def _subject(fake: FakeGitHub, node_id: str) -> Any:
    for repo in fake.repositories.values():
        for pr in repo.pulls.values():
            review_comments = [c for t in pr.threads for c in t.comments]
            for one in [*pr.reviews, *pr.comments, *review_comments]:
                if one.node_id == node_id:
                    return one
    raise Refusal("NOT_FOUND", f"Could not resolve to a node with the global id of '{node_id}'")


def _threads(fake: FakeGitHub) -> Iterator[tuple[state.Repository, state.Pull, state.Thread]]:
    for repo in fake.repositories.values():
        for pr in repo.pulls.values():
            yield from ((repo, pr, t) for t in pr.threads)
