"""What is on the fake GitHub, as plain objects that tests read and change."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.fake_github.git import GitRepository

_numbers = itertools.count(1001)


def number() -> int:
    """An id, unique among all objects, as GitHub's are large and in no order that anybody should
    rely on."""
    return next(_numbers)


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass
class User:
    login: str
    type: str = "User"
    id: int = field(default_factory=number)


@dataclass
class Comment:
    """A comment on an issue or a pull request."""

    user: User
    body: str
    app: int | None = None
    id: int = field(default_factory=number)
    created_at: str = field(default_factory=now)
    updated_at: str = field(default_factory=now)
    minimized: str | None = None
    reactions: list[tuple[int, User, str]] = field(default_factory=list)
    edits: list[str] = field(default_factory=list)

    @property
    def node_id(self) -> str:
        return f"IC_{self.id}"


@dataclass
class ReviewComment:
    user: User
    body: str
    path: str
    line: int
    side: str
    start_line: int | None
    start_side: str | None
    commit_id: str
    review_id: int
    in_reply_to: int | None = None
    id: int = field(default_factory=number)
    created_at: str = field(default_factory=now)
    minimized: str | None = None

    @property
    def node_id(self) -> str:
        return f"PRRC_{self.id}"


@dataclass
class Thread:
    """A conversation on lines of the diff."""

    comments: list[ReviewComment]
    resolved_by: User | None = None
    id: int = field(default_factory=number)

    @property
    def node_id(self) -> str:
        return f"PRRT_{self.id}"


@dataclass
class Review:
    user: User
    body: str
    state: str
    commit_id: str
    comments: list[ReviewComment]
    payload: dict[str, Any]
    id: int = field(default_factory=number)
    submitted_at: str = field(default_factory=now)
    minimized: str | None = None

    @property
    def node_id(self) -> str:
        return f"PRR_{self.id}"


@dataclass
class Pull:
    number: int
    user: User
    title: str
    body: str
    base_ref: str
    head_ref: str
    head_repo: Repository | None
    base_sha: str
    head_sha: str
    state: str = "open"
    draft: bool = False
    labels: list[str] = field(default_factory=list)
    association: str = "CONTRIBUTOR"
    decision: str | None = None
    id: int = field(default_factory=number)
    created_at: str = field(default_factory=now)
    merged_at: str | None = None
    comments: list[Comment] = field(default_factory=list)
    reviews: list[Review] = field(default_factory=list)
    threads: list[Thread] = field(default_factory=list)

    def live_reviews(self) -> list[Review]:
        """Reviews that nobody minimised."""
        return [r for r in self.reviews if r.minimized is None]

    def open_threads(self) -> list[Thread]:
        """Threads that nobody resolved and whose comment nobody folded."""
        return [
            t for t in self.threads if t.resolved_by is None and t.comments[0].minimized is None
        ]


@dataclass
class CheckRun:
    name: str
    head_sha: str
    app: int
    status: str = "queued"
    conclusion: str | None = None
    external_id: str = ""
    details_url: str = ""
    title: str | None = None
    summary: str | None = None
    text: str | None = None
    annotations: list[dict[str, Any]] = field(default_factory=list)
    started_at: str = field(default_factory=now)
    completed_at: str | None = None
    id: int = field(default_factory=number)

    @property
    def node_id(self) -> str:
        return f"CR_{self.id}"


@dataclass
class Status:
    sha: str
    context: str
    state: str
    creator: User
    description: str | None = None
    target_url: str | None = None
    id: int = field(default_factory=number)
    created_at: str = field(default_factory=now)


@dataclass
class Job:
    name: str
    log: bytes = b""
    status: str = "completed"
    conclusion: str | None = "success"
    attempt: int = 1
    runner_name: str | None = "runner-1"
    steps: list[dict[str, Any]] = field(default_factory=list)
    started_at: str = field(default_factory=now)
    completed_at: str | None = field(default_factory=now)
    log_gone: bool = False
    id: int = field(default_factory=number)


@dataclass
class Artifact:
    name: str
    data: bytes
    expired: bool = False
    id: int = field(default_factory=number)


@dataclass
class WorkflowRun:
    name: str
    path: str
    head_sha: str
    head_branch: str
    event: str = "pull_request"
    status: str = "completed"
    conclusion: str | None = "success"
    attempt: int = 1
    actor: User | None = None
    pulls: list[int] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    artifacts: list[Artifact] = field(default_factory=list)
    created_at: str = field(default_factory=now)
    display_title: str = ""
    id: int = field(default_factory=number)


@dataclass
class Dispatch:
    """A `workflow_dispatch` that was asked for."""

    workflow: str
    ref: str
    inputs: dict[str, Any]
    run_id: int


@dataclass
class Repository:
    owner: User
    name: str
    git: GitRepository
    default_branch: str = "main"
    fork: bool = False
    private: bool = False
    id: int = field(default_factory=number)
    roles: dict[str, str] = field(default_factory=dict)
    pulls: dict[int, Pull] = field(default_factory=dict)
    check_runs: list[CheckRun] = field(default_factory=list)
    statuses: list[Status] = field(default_factory=list)
    workflows: dict[str, int] = field(default_factory=dict)
    runs: list[WorkflowRun] = field(default_factory=list)
    dispatches: list[Dispatch] = field(default_factory=list)
    reruns: list[str] = field(default_factory=list)
    rulesets: dict[str, list[tuple[str, int | None]]] = field(default_factory=dict)
    protection: dict[str, list[tuple[str, int | None]]] = field(default_factory=dict)

    @property
    def full_name(self) -> str:
        return f"{self.owner.login}/{self.name}"

    def required(self, branch: str) -> list[tuple[str, int | None]]:
        """(context, app id) of every check that `branch` requires."""
        return [*self.rulesets.get(branch, []), *self.protection.get(branch, [])]


@dataclass
class Token:
    """An installation token: what it may do, and where."""

    value: str
    installation: int
    permissions: dict[str, str]
    repositories: frozenset[int] | None
    expires_at: float


@dataclass
class Installation:
    account: User
    permissions: dict[str, str]
    repositories: list[Repository]
    suspended: bool = False
    id: int = field(default_factory=number)


@dataclass
class Delivery:
    """One attempt to deliver a webhook; a redelivery has the same guid and another id."""

    guid: str
    event: str
    action: str | None
    payload: bytes
    installation: int
    repository: int
    status: str = ""
    status_code: int = 0
    redelivery: bool = False
    delivered_at: str = field(default_factory=now)
    id: int = field(default_factory=number)
