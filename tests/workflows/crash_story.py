"""Two hundred deliveries in which something must happen on GitHub, and what must stand there in the
end."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.fake_github import FakeGitHub, people, webhooks
from tests.fake_github.state import Comment, Delivery, Pull, Repository, WorkflowRun
from tests.workflows.conftest import SMALL_HEAD, small
from tests.workflows.test_commands import WORKFLOW, failed, finish, ran, results

ANSWER = re.compile(r"<!-- specbot:answer (\d+) (\d+) -->")
_SAID = (
    ("/help", 1),
    ("/re-run unit", 1),
    ("/kernels", 1),
    ("/explain kernel.host-sync\n/skip kernel.host-sync it is wanted here", 2),
)
PER_PULL = 10


@dataclass
class Story:
    """Pull requests of one repository, each told of by `PER_PULL` deliveries, and a GPU run
    each. Where `github_refuses` requests, a command may have ended with the answer that it
    failed."""

    fake: FakeGitHub
    github_refuses: bool = False
    repo: Repository = field(init=False)
    pulls: list[Pull] = field(default_factory=list)
    comments: list[tuple[Comment, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.repo = small(self.fake)
        self.repo.roles["ada"] = "write"
        self.repo.workflows[WORKFLOW] = 5

    def told(self, pulls: int) -> Iterator[Delivery]:
        """Each thing happens when its delivery is asked for; who asked for it delivers it."""
        for n in range(pulls):
            text = f"{SMALL_HEAD}\nother({n})\n"
            self.repo.git.commit(f"b{n}", {"engine/step.py": text}, parent="main")
            pull = people.open_pull(self.fake, self.repo, f"b{n}", send=False)
            self.pulls.append(pull)
            yield self.fake.deliveries[-1]
            sha = self.repo.git.commit(f"b{n}", {"engine/step.py": text + "other(0)\n"})
            people.push(self.fake, self.repo, pull, sha, send=False)
            yield self.fake.deliveries[-1]
            ran(self.repo, pull, failed("unit"), failed("lint"))
            for body, commands in _SAID:
                self.comments.append(
                    (people.comment(self.fake, self.repo, pull, "ada", body, send=False), commands)
                )
                yield self.fake.deliveries[-1]
            yield self._job_ended(pull)
            yield people.say(self.fake, self.repo, pull, "labeled", send=False)
            # Again what was delivered before, which must be nothing.
            yield from self.fake.deliveries[-PER_PULL + 2 : -PER_PULL + 4]

    def _job_ended(self, pull: Pull) -> Delivery:
        told = {
            "head_sha": pull.head_sha,
            "status": "completed",
            "conclusion": "failure",
            "steps": [],
        }
        known = {"action": "completed", "workflow_job": told}
        return people.webhook(self.fake, self.repo, "workflow_job", known, "ada", send=False)

    def gpu_waiting(self) -> list[WorkflowRun]:
        return [
            run
            for run in self.repo.runs
            if run.event == "workflow_dispatch" and run.status != "completed"
        ]

    def gpu_runs(self) -> Iterator[Delivery]:
        """The GPU runs that were asked for end well."""
        yield from map(self._gpu_run, self.gpu_waiting())

    def _gpu_run(self, run: WorkflowRun) -> Delivery:
        (asked,) = [d for d in self.repo.dispatches if d.run_id == run.id]
        data = results(asked.inputs["base"], asked.inputs["head"])
        return finish(self.fake, self.repo, run, "success", data, send=False)


def deliver(fake: FakeGitHub, one: Delivery, wait: Callable[[], None]) -> None:
    """Until it is taken, as GitHub is asked to do by the service."""
    while True:
        webhooks.attempt(fake, one)
        if one.status_code == 202:
            return
        wait()


def wrong(story: Story) -> list[str]:
    """What is missing or there twice; none where every delivery had its effect once."""
    repo, found = story.repo, list(story.fake.violations)
    for pull in story.pulls:
        found += [f"#{pull.number}: {what}" for what in _of_pull(story, pull)]
    rerun = Counter(repo.reruns)
    # Of a command that failed, as its author was told, the rerun may have been asked for before.
    wanted = [pull for pull in story.pulls if not _has_failed(story, pull, "`/re-run ")]
    is_complete = len(wanted) <= len(rerun) <= len(story.pulls)
    if not is_complete or any(count > 1 for count in rerun.values()):
        found.append(f"reruns {dict(rerun)}")
    asked = Counter(d.inputs["head"] for d in repo.dispatches)
    for pull in story.pulls:
        if asked[pull.head_sha] != 1 and not (
            asked[pull.head_sha] == 0 and _is_given_up(story, pull)
        ):
            found.append(f"#{pull.number}: {asked[pull.head_sha]} GPU runs")
    for comment, commands in story.comments:
        if [(user, what) for _, user, what in comment.reactions] != [(story.fake.bot, "eyes")]:
            found.append(f"comment {comment.id}: reactions {len(comment.reactions)}")
        answers = Counter(
            m[2]
            for p in story.pulls
            for c in p.comments
            if (m := _mark(c)) and int(m[1]) == comment.id
        )
        if answers != Counter(str(n) for n in range(commands)):
            found.append(f"comment {comment.id} {comment.body!r}: answers {dict(answers)}")
    return found


def _is_given_up(story: Story, pull: Pull) -> bool:
    """Whether its author was told that there is no GPU run, or that nobody knows."""
    unsure = any("Nobody knows" in comment.body for comment in pull.comments)
    return unsure or _has_failed(story, pull, "`/kernels`")


def _has_failed(story: Story, pull: Pull, command: str) -> bool:
    """Whether the author was told that the command failed, where GitHub may have refused it."""
    answers = [
        comment.body for comment in pull.comments if _mark(comment) and command in comment.body
    ]
    return story.github_refuses and any("did not come to an end" in body for body in answers)


def _mark(comment: Comment) -> re.Match[str] | None:
    return ANSWER.match(comment.body)


def _of_pull(story: Story, pull: Pull) -> Iterator[str]:
    if [review.commit_id for review in pull.live_reviews()] != [pull.head_sha]:
        yield f"{len(pull.live_reviews())} reviews in force"
    if len({review.body.split("\n")[0] for review in pull.reviews}) != len(pull.reviews):
        yield "the same review twice"
    checks = [c for c in story.repo.check_runs if c.head_sha == pull.head_sha]
    # A review that was ordered anew, as when the bot looked before the webhook came, has a check
    # run of its own.
    if len({c.external_id for c in checks}) != len(checks) or "specbot/review" not in {
        c.name for c in checks
    }:
        yield f"check runs {[(c.name, c.external_id) for c in checks]}"
    for check in checks:
        if check.status != "completed":
            yield f"{check.name} has not ended"
        if len(check.annotations) != len(
            {(a["path"], a["start_line"], a["title"]) for a in check.annotations}
        ):
            yield f"{check.name} has annotations twice"
    reports = [c for c in pull.comments if "specbot:ci" in c.body]
    if len(reports) != 1:
        yield f"{len(reports)} CI reports"
    results = [c for c in pull.comments if "No kernel got worse" in c.body]
    if len(results) != 1 and not _is_given_up(story, pull):
        yield f"{len(results)} results of GPU runs"
