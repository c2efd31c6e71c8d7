"""Which checks a merge waits for: what GitHub says of those that reported, and the branch's rules
for the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from urllib.parse import quote

from bot.github import Client, GitHubError, RateLimited
from bot.github.client import Json
from bot.github.own_comments import PullPlace
from checks.ci.model import Conclusion, Job, Kind, Requirement, Status

_ROLLUP = """
query ($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) {
    reviewDecision
    commits(last: 1) { nodes { commit { oid statusCheckRollup { contexts(first: 100, after: $after) {
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
    """`ids`, `names`: of checks that reported, and whether each is required; `expected`: names that
    the branch's rules require; `whole`: whether all of it could be read.
    """

    ids: dict[str, bool] = field(default_factory=dict)
    names: dict[str, bool] = field(default_factory=dict)
    expected: set[str] = field(default_factory=set)
    approved: bool | None = None
    whole: bool = True

    def of(self, job: Job) -> Requirement:
        """What is known of one job."""
        known = self.ids.get(job.id, self.names.get(job.name))
        if known or job.name in self.expected:
            return Requirement.REQUIRED
        return Requirement.OPTIONAL if known is not None or self.whole else Requirement.UNKNOWN

    def marked(self, jobs: Iterable[Job]) -> Iterator[Job]:
        """The jobs with their requirement, then what is expected and never came."""
        there = set()
        for job in jobs:
            there.add(job.name)
            yield replace(job, requirement=self.of(job))
        for name in sorted(self.expected - there):
            yield Job(
                id=f"expected-{name}",
                name=name,
                kind=Kind.CHECK_RUN,
                requirement=Requirement.REQUIRED,
                status=Status.EXPECTED,
                conclusion=Conclusion.NONE,
            )


def required(client: Client, place: PullPlace, branch: str, head: str) -> Required:
    """Reads all three sources. What GitHub refuses leaves `whole` False; `Limited` goes up."""
    found = Required()
    rules = partial(_rules, client, place, branch), partial(_protection, client, place, branch)
    for part in (partial(_reported, client, place, head), *rules):
        try:
            part(found)
        except RateLimited:
            raise
        except GitHubError:
            found.whole = False
    return found


def _reported(client: Client, place: PullPlace, head: str, found: Required) -> None:
    after: str | None = None
    while True:
        data = client.graphql(_ROLLUP, place.variables | {"after": after})
        pull = data["repository"]["pullRequest"]
        decision = pull["reviewDecision"]
        found.approved = None if decision is None else decision == "APPROVED"
        commit = next((n["commit"] for n in pull["commits"]["nodes"]), None)
        if commit is None or commit["oid"] != head:
            found.whole = False
            return
        if commit["statusCheckRollup"] is None:
            return
        contexts = commit["statusCheckRollup"]["contexts"]
        for node in contexts["nodes"]:
            _note(node, found)
        if not contexts["pageInfo"]["hasNextPage"]:
            return
        after = contexts["pageInfo"]["endCursor"]


def _note(node: Json, found: Required) -> None:
    needed = bool(node["isRequired"])
    if node["__typename"] == "CheckRun":
        found.ids[str(node["databaseId"])] = needed
    name = node["name"] if node["__typename"] == "CheckRun" else node["context"]
    found.names[name] = found.names.get(name, False) or needed


def _rules(client: Client, place: PullPlace, branch: str, found: Required) -> None:
    path = f"/repos/{place.repository}/rules/branches/{quote(branch, safe='')}"
    for rule in client.pages(path):
        if rule["type"] == "required_status_checks":
            checks = rule["parameters"]["required_status_checks"]
            found.expected |= {check["context"] for check in checks}


def _protection(client: Client, place: PullPlace, branch: str, found: Required) -> None:
    path = f"/repos/{place.repository}/branches/{quote(branch, safe='')}/protection/required_status_checks"
    try:
        data = client.get(path)
    except GitHubError as error:
        if error.status == 404 and any(word in str(error).lower() for word in _UNPROTECTED):
            return
        raise
    found.expected |= {check["context"] for check in data["checks"]} | set(data["contexts"])
