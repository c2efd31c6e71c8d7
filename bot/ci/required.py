"""Which checks a merge waits for: what GitHub says of those that reported, and the branch's rules
for the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from urllib.parse import quote

from bot.github import Client, GitHubError, RateLimited
from bot.github.client import Json
from bot.github.own_comments import PullPlace
from checks.ci.model import Conclusion, Job, Kind, Requirement, Status

_ROLLUP = """
query ($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) {
    reviewDecision
    commits(last: 1) { nodes { commit { oid
     statusCheckRollup { contexts(first: 100, after: $after) {
      nodes {
        __typename
        ... on CheckRun { databaseId name isRequired(pullRequestNumber: $number) }
        ... on StatusContext { context isRequired(pullRequestNumber: $number) }
      }
      pageInfo { hasNextPage endCursor } } } } } } } }
}
"""
# GitHub's 404 for a branch without protection; its other 404 hides from us whether there is one.
_UNPROTECTED = ("branch not protected", "required status checks not enabled")


@dataclass
class Required:
    """What is known of which checks are required.

    `ids` and `names` are of checks that reported, and whether each is required; `expected` are
    names that the branch's rules require; `whole` says whether all of it could be read.
    """

    ids: dict[str, bool] = field(default_factory=dict)
    names: dict[str, bool] = field(default_factory=dict)
    expected: set[str] = field(default_factory=set)
    approved: bool | None = None
    whole: bool = True

    def of(self, job: Job) -> Requirement:
        """Whether one job is required."""
        reported = self.ids.get(job.id, self.names.get(job.name))
        if reported or job.name in self.expected:
            return Requirement.REQUIRED
        if reported is None and not self.whole:
            return Requirement.UNKNOWN
        return Requirement.OPTIONAL

    def marked(self, jobs: Iterable[Job]) -> Iterator[Job]:
        """The jobs with their requirement, then those that are expected and never came."""
        names = set()
        for job in jobs:
            names.add(job.name)
            yield replace(job, requirement=self.of(job))
        for name in sorted(self.expected - names):
            yield Job(
                id=f"expected-{name}",
                name=name,
                kind=Kind.CHECK_RUN,
                requirement=Requirement.REQUIRED,
                status=Status.EXPECTED,
                conclusion=Conclusion.NONE,
            )


def required(client: Client, place: PullPlace, branch: str, head: str) -> Required:
    """Read all three sources.

    What GitHub refuses leaves `whole` False. `RateLimited` is not caught.
    """
    known = Required()
    branch_path = f"branches/{quote(branch, safe='')}"
    sources: tuple[Callable[[], None], ...] = (
        lambda: _add_reported(client, place, head, known),
        lambda: _add_rules(client, f"/repos/{place.repository}/rules/{branch_path}", known),
        lambda: _add_protection(client, f"/repos/{place.repository}/{branch_path}", known),
    )
    for read in sources:
        try:
            read()
        except RateLimited:
            raise
        except GitHubError:
            known.whole = False
    return known


def _add_reported(client: Client, place: PullPlace, head: str, known: Required) -> None:
    """What GitHub says about the checks that reported on the head."""
    after: str | None = None
    while True:
        data = client.graphql(_ROLLUP, place.variables | {"after": after})
        pull = data["repository"]["pullRequest"]
        decision = pull["reviewDecision"]
        known.approved = None if decision is None else decision == "APPROVED"
        nodes = pull["commits"]["nodes"]
        commit = nodes[0]["commit"] if nodes else None
        if commit is None or commit["oid"] != head:
            known.whole = False
            return
        if commit["statusCheckRollup"] is None:
            return
        contexts = commit["statusCheckRollup"]["contexts"]
        for node in contexts["nodes"]:
            _add_context(node, known)
        if not contexts["pageInfo"]["hasNextPage"]:
            return
        after = contexts["pageInfo"]["endCursor"]


def _add_context(node: Json, known: Required) -> None:
    is_required = bool(node["isRequired"])
    if node["__typename"] == "CheckRun":
        known.ids[str(node["databaseId"])] = is_required
        name = node["name"]
    else:
        name = node["context"]
    known.names[name] = known.names.get(name, False) or is_required


def _add_rules(client: Client, path: str, known: Required) -> None:
    """What the rule sets of the branch require."""
    for rule in client.pages(path):
        if rule["type"] == "required_status_checks":
            checks = rule["parameters"]["required_status_checks"]
            known.expected |= {check["context"] for check in checks}


def _add_protection(client: Client, branch_path: str, known: Required) -> None:
    """What the older branch protection requires."""
    try:
        data = client.get(f"{branch_path}/protection/required_status_checks")
    except GitHubError as error:
        message = str(error).lower()
        if error.status == 404 and any(text in message for text in _UNPROTECTED):
            return
        raise
    known.expected |= {check["context"] for check in data["checks"]}
    known.expected |= set(data["contexts"])
