"""A minute of webhooks of a busy repository, signed and ready to be sent.

The mix is that of a large engine's day: each push starts some hundred jobs, and each job is told of
three times, so that nineteen of twenty webhooks are about CI; of the rest most are labels and talk.
"""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import githubkit_schemas.v2026_03_10.models as m

from tests.fake_github import FakeGitHub, shapes, webhooks
from tests.fake_github.description import webhook_model
from tests.fake_github.filling import fill
from tests.fake_github.state import Comment, Pull, Repository

Json = dict[str, Any]
# In a thousand.
MIX = {
    ("workflow_job", "queued"): 220,
    ("workflow_job", "in_progress"): 220,
    ("workflow_job", "completed"): 220,
    ("check_run", "created"): 100,
    ("check_run", "completed"): 100,
    ("check_suite", "completed"): 30,
    ("workflow_run", "completed"): 30,
    ("status", None): 30,
    ("pull_request", "labeled"): 15,
    ("pull_request", "synchronize"): 10,
    ("issue_comment", "created"): 24,
    ("issue_comment", "/help"): 1,
}
# GitHub's payloads are mostly addresses of this length, which the description lets be empty.
_ADDRESS = "https://api.github.example/repos/octo/engine/issues/comments{/number}"


# Stands in a template for the id of what the webhook is about.
_ID = 7_000_000_000


@dataclass
class Traffic:
    """Makes deliveries about `pulls` of `repo`, on behalf of GitHub `fake`."""

    fake: FakeGitHub
    repo: Repository
    pulls: list[Pull]
    _made: dict[tuple[str, str | None, int], bytes] = field(default_factory=dict)

    def requests(self, count: int) -> Iterator[bytes]:
        """`count` whole HTTP requests in the mix's proportions, evenly mingled."""
        due, made = dict.fromkeys(MIX, 0), Counter[tuple[str, str | None]]()
        for n in range(count):
            for kind, share in MIX.items():
                due[kind] += share
            kind = max(due, key=due.__getitem__)
            due[kind] -= sum(MIX.values())
            made[kind] += 1
            yield self._request(*kind, self.pulls[made[kind] % len(self.pulls)], n)

    def _request(self, event: str, action: str | None, pull: Pull, n: int) -> bytes:
        if action == "/help":
            body = self._comment(pull, "/help")
        else:
            key = (event, action, pull.number)
            if key not in self._made:
                self._made[key] = self._template(event, action, pull)
            body = self._made[key].replace(str(_ID).encode(), str(_ID + n).encode())
        fields = webhooks.headers(event, str(uuid.uuid4()), body, self.fake.webhook_secret)
        fields |= {"host": "bot", "content-length": str(len(body))}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        return f"POST /webhook HTTP/1.1\r\n{head}\r\n".encode() + body

    def _template(self, event: str, action: str | None, pull: Pull) -> bytes:
        if event == "issue_comment":
            return self._comment(pull, "Looks good, thank you for the fix.")
        if event != "pull_request":
            return self._payload(event, action, _ci(event, action, pull))
        known = {"number": pull.number, "pull_request": shapes.pull(self.repo, pull)}
        known |= {"before": "0" * 40, "after": pull.head_sha} if action == "synchronize" else {}
        return self._payload(event, action, known)

    def _comment(self, pull: Pull, text: str) -> bytes:
        said = Comment(self.fake.user("ada"), text)
        pull.comments.append(said)
        known = {"issue": shapes.issue(self.repo, pull), "comment": shapes.comment(self.repo, said)}
        return self._payload("issue_comment", "created", known)

    def _payload(self, event: str, action: str | None, known: Json) -> bytes:
        installation = self.fake.installation_of(self.repo)
        assert installation is not None
        common: Json = {
            "repository": shapes.repository(self.repo, m.RepositoryWebhooks),
            "sender": shapes.user(self.fake.user("ada")),
            "installation": {"id": installation.id, "node_id": "MDI"},
            **({"action": action} if action else {}),
        }
        return json.dumps(_addresses(fill(webhook_model(event, action), common | known))).encode()


def _ci(event: str, action: str | None, pull: Pull) -> Json:
    """What a CI webhook knows of its commit."""
    if event == "status":
        return {"sha": pull.head_sha, "state": "success", "context": "ci/unit", "id": _ID}
    conclusion = "success" if action == "completed" else None
    about = {
        "id": _ID,
        "head_sha": pull.head_sha,
        "head_branch": pull.head_ref,
        "conclusion": conclusion,
    }
    if event == "workflow_job":
        steps = [{"name": f"Step {i}", "number": i, "status": "completed"} for i in range(10)]
        return {event: about | {"name": "unit", "status": action, "steps": steps, "run_attempt": 1}}
    told = {"status": "completed" if conclusion else "queued", "pull_requests": []}
    if event == "workflow_run":
        told |= {"event": "pull_request", "run_attempt": 1, "path": ".github/workflows/ci.yml"}
    if event == "check_run":
        told |= {"name": "coverage"}
    return {event: about | told}


def _addresses(data: Any) -> Any:
    """`data` with an address in place of every empty text."""
    if isinstance(data, dict):
        return {key: _addresses(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_addresses(value) for value in data]
    return data if data != "" else _ADDRESS
