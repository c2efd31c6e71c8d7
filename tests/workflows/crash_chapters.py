"""What happens to a pull request, a kind of workflow after the other: the smallest story with every
step in it.

Each chapter says whose steps it is about, and what GitHub shows of it in the end, whoever died in
between.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import githubkit_schemas.v2026_03_10.models as m
import httpx

from tests.fake_github import FakeGitHub, people, shapes
from tests.fake_github.state import Delivery, Job, Pull, Repository, WorkflowRun
from tests.workflows.conftest import SMALL_HEAD, Bot, small, until
from tests.workflows.crash_story import ANSWER
from tests.workflows.test_commands import failed, finish, ran
from tests.workflows.test_gpu_jobs import PASSED, archive, records

CONFIG = """
[[gpu_job]]
name = "e2e"
workflow = "e2e.yml"
junit = "report.xml"
logprobs = "head.jsonl"
paths = ["engine/ops/**"]

[[gpu_job]]
name = "here"
workflow = "local"
"""
Seen = Counter[str]


@dataclass
class Book:
    """One repository, and a pull request for each time that a chapter is told."""

    bot: Bot
    repo: Repository = field(init=False)
    told: int = 0
    _elsewhere: Pull | None = None

    @property
    def fake(self) -> FakeGitHub:
        return self.bot.fake

    def __post_init__(self) -> None:
        self.repo = small(self.fake)
        self.repo.roles["ada"] = "write"
        self.repo.workflows[".github/workflows/e2e.yml"] = 5
        self.repo.git.commit("wrong", {".specbot.toml": "nothing-like-it = 1\n"}, parent="main")
        self.repo.git.commit("main", {".specbot.toml": CONFIG})

    def opened(self, base: str = "main", *, draft: bool = False, first: bool = False) -> Pull:
        """A new pull request, of which nothing was told yet.

        Of those before only the last that was reviewed stays.
        """
        for old in self.repo.pulls.values():
            if first or not old.reviews:
                old.state = "closed"
        self.told += 1
        name = f"b{self.told}"
        self.repo.git.commit(
            name, {"engine/ops/step.py": f"{SMALL_HEAD}\nother({self.told})\n"}, parent=base
        )
        pull = people.open_pull(self.fake, self.repo, name, base=base, draft=draft, send=False)
        pull.association = "FIRST_TIMER" if first else "CONTRIBUTOR"
        return pull

    def elsewhere(self) -> Pull:
        """The only pull request of another repository, reviewed, with a finding, and with a page
        that everybody can read."""
        if self._elsewhere is None or not self.has_page(self._elsewhere):
            self._elsewhere = self._reviewed_elsewhere()
        return self._elsewhere

    def _reviewed_elsewhere(self) -> Pull:
        repo = small(self.fake)
        repo.roles["ada"] = "write"
        repo.git.commit("feature", {"engine/step.py": f"{SMALL_HEAD}\nnobody_defines(it)\n"})
        pull = people.open_pull(self.fake, repo, "feature")
        # The last that a review does.
        until(lambda: self.seen(pull)["greetings"])
        return pull

    def last_reviewed(self) -> Pull:
        """The pull request whose run on a GPU has ended, too."""
        newest_first = reversed(self.repo.pulls.values())
        return next(pull for pull in newest_first if pull.reviews and pull.state == "open")

    def said(self, pull: Pull, body: str) -> Iterator[Delivery]:
        people.comment(self.fake, pull.head_repo, pull, "ada", body, send=False)
        yield self.fake.deliveries[-1]

    def told_of(self, repo: Repository, event: str, **known: object) -> Iterator[Delivery]:
        yield people.webhook(self.fake, repo, event, known, "ada", send=False)

    def has_page(self, pull: Pull) -> bool:
        """Whether strangers can read the page of the pull request."""
        address = f"{self.bot.url}/pr/{pull.head_repo.full_name}/{pull.number}"
        until(self.bot.ready)
        return httpx.get(address, trust_env=False, verify=False).status_code == 200

    def gpu_waiting(self) -> list[WorkflowRun]:
        return [
            run
            for run in self.repo.runs
            if run.event == "workflow_dispatch" and run.status != "completed"
        ]

    def gpu_ended(self, run: WorkflowRun) -> Delivery:
        """The run that was asked for ends well, with what it was to bring."""
        (asked,) = [d for d in self.repo.dispatches if d.run_id == run.id]
        told = json.dumps({"base": asked.inputs["base"], "head": asked.inputs["head"]}).encode()
        data = archive({"kernels.json": told, "report.xml": PASSED, "head.jsonl": records()})
        return finish(self.fake, self.repo, run, "success", data, send=False)

    def seen(self, pull: Pull) -> Seen:
        """How often each thing stands on GitHub that the bot brought about there, and whether
        there is a page."""
        made: Seen = Counter(
            reviews=len(pull.reviews),
            folded=len(pull.reviews) - len(pull.live_reviews()),
            pages=self.has_page(pull),
        )
        repo = pull.head_repo
        for comment in pull.comments:
            answer, ours = ANSWER.match(comment.body), comment.user is self.fake.bot
            made[
                "answers"
                if answer
                else "CI reports"
                if "specbot:ci" in comment.body
                else "greetings"
            ] += ours
            made["reactions"] += len(comment.reactions)
            made[f"answer {answer[1]} {answer[2]}" if answer else ""] += 1
        for check in repo.check_runs:
            if check.head_sha == pull.head_sha:
                made[f"{check.name} {check.status}"] += 1
                places = {(a["path"], a["start_line"], a["title"]) for a in check.annotations}
                made["annotations twice"] += len(check.annotations) - len(places)
        made["dispatches"] = sum(d.inputs["head"] == pull.head_sha for d in repo.dispatches)
        made["reruns"] = len(repo.reruns)
        twice = sum(
            count - 1 for name, count in made.items() if name.startswith("answer ") and count > 1
        )
        kept = {
            name: count
            for name, count in made.items()
            if count and name and not name.startswith("answer ")
        }
        return Counter(kept | ({"answers twice": twice} if twice else {}))


@dataclass(frozen=True)
class Chapter:
    """`tell` makes it happen and gives the pull request and the deliveries; `kinds` are the
    workflows that it is about, `shows` what there is more in the end, on GitHub and of pages. Its
    CI report is only counted where it is about that. `settings` are the bot's for this one."""

    name: str
    kinds: tuple[str, ...]
    shows: dict[str, int]
    tell: Callable[[Book], tuple[Pull, Iterator[Delivery]]]
    settings: dict[str, str] = field(default_factory=dict)


def _reviewed(book: Book) -> tuple[Pull, Iterator[Delivery]]:
    pull = book.opened(first=True)
    return pull, iter([book.fake.deliveries[-1]])


def _refused(book: Book) -> tuple[Pull, Iterator[Delivery]]:
    pull = book.opened(base="wrong")
    return pull, iter([book.fake.deliveries[-1]])


def _again(book: Book) -> tuple[Pull, Iterator[Delivery]]:
    pull = book.last_reviewed()
    return pull, book.said(pull, "/review\n/baseline accept as it is")


def _talked(book: Book) -> tuple[Pull, Iterator[Delivery]]:
    pull = book.last_reviewed()
    return pull, book.said(pull, "I see.")


def _checked_again(book: Book) -> tuple[Pull, Iterator[Delivery]]:
    """Somebody presses "Re-run" at our check."""
    pull = book.last_reviewed()
    (check, *_) = [c for c in book.repo.check_runs if c.head_sha == pull.head_sha]
    run = shapes.check_run(check, m.CheckRunWithSimpleCheckSuite)
    return pull, book.told_of(book.repo, "check_run", action="rerequested", check_run=run)


def _queued(book: Book) -> tuple[Pull, Iterator[Delivery]]:
    """A merge queue wants the commit checked."""
    pull = book.opened(draft=True)
    group = {
        "head_sha": pull.head_sha,
        "head_ref": f"refs/heads/gh-readonly-queue/main/pr-{pull.number}",
        "base_sha": pull.base_sha,
        "base_ref": "refs/heads/main",
    }
    return pull, book.told_of(
        book.repo, "merge_group", action="checks_requested", merge_group=group
    )


def _ignored(book: Book) -> tuple[Pull, Iterator[Delivery]]:
    pull, rule = book.elsewhere(), "semantics.undefined-name"
    return pull, book.said(pull, f"/why {rule}\n/ignore {rule} a test defines it")


def _made_private(book: Book) -> tuple[Pull, Iterator[Delivery]]:
    pull = book.elsewhere()
    return pull, book.told_of(pull.head_repo, "repository", action="privatized")


def _deleted(book: Book) -> tuple[Pull, Iterator[Delivery]]:
    pull = book.elsewhere()
    return pull, book.told_of(pull.head_repo, "repository", action="deleted")


def _renamed(book: Book) -> tuple[Pull, Iterator[Delivery]]:
    """The page is under the new name in the end, where it was not."""
    pull = book.elsewhere()
    repo = pull.head_repo
    old, repo.name = repo.name, f"{repo.name}-renamed"
    book.fake.repositories[repo.full_name] = repo
    changes = {"repository": {"name": {"from": old}}}
    return pull, book.told_of(repo, "repository", action="renamed", changes=changes)


def _asked(book: Book) -> tuple[Pull, Iterator[Delivery]]:
    pull = book.opened(draft=True)
    ran(book.repo, pull, failed("unit"), failed("lint"))
    return pull, book.said(
        pull, "/help\n/explain it\n/re-run unit\n/skip kernel.host-sync it is wanted here"
    )


def _here(book: Book) -> tuple[Pull, Iterator[Delivery]]:
    pull = book.opened(draft=True)
    return pull, book.said(pull, "/kernels here")


def _ci_asked(book: Book) -> tuple[Pull, Iterator[Delivery]]:
    pull = book.opened(draft=True)
    ran(book.repo, pull, failed("unit"))
    return pull, book.said(pull, "/ci")


def _ci(book: Book) -> tuple[Pull, Iterator[Delivery]]:
    pull = book.opened(draft=True)
    run = ran(
        book.repo,
        pull,
        failed("unit"),
        Job("lint", status="in_progress", conclusion=None, completed_at=None),
    )
    run.status, run.conclusion = "in_progress", None
    told = {"head_sha": pull.head_sha, "status": "completed", "conclusion": "failure", "steps": []}
    known = {"action": "completed", "workflow_job": told}
    return pull, iter(
        [people.webhook(book.fake, book.repo, "workflow_job", known, "ada", send=False)]
    )


def _closed(book: Book) -> tuple[Pull, Iterator[Delivery]]:
    pull = book.opened(draft=True)
    pull.state = "closed"
    return pull, iter([people.say(book.fake, book.repo, pull, "closed", send=False)])


_REVIEW, _KERNELS = "specbot/review completed", "specbot/kernels completed"
CHAPTERS = (
    Chapter(
        "a first pull request that touches what runs on a GPU",
        ("review", "comment", "kernels-result"),
        {
            "reviews": 1,
            "greetings": 1,
            "answers": 1,
            "dispatches": 1,
            _REVIEW: 1,
            _KERNELS: 1,
            "pages": 1,
        },
        _reviewed,
    ),
    Chapter("commands after it", ("comment",), {"answers": 2, "reactions": 1, _REVIEW: 1}, _again),
    Chapter("a conversation", ("discussion",), {}, _talked),
    Chapter("a check that is run again", ("review-again",), {_REVIEW: 1}, _checked_again),
    Chapter("a configuration that is wrong", ("review",), {_REVIEW: 1}, _refused),
    Chapter("a merge queue", ("merge-group",), {_REVIEW: 1}, _queued),
    Chapter("commands", ("comment",), {"answers": 4, "reactions": 1, "reruns": 1}, _asked),
    Chapter("commands about a finding", ("comment",), {"answers": 2, "reactions": 1}, _ignored),
    Chapter(
        "kernels on this machine",
        ("comment", "kernels-local"),
        {"answers": 1, "reactions": 1, _KERNELS: 1},
        _here,
    ),
    Chapter(
        "a CI report that is asked for",
        ("comment",),
        {"answers": 1, "reactions": 1, "CI reports": 1},
        _ci_asked,
    ),
    Chapter("CI goes on", ("ci-commit", "ci-report"), {"CI reports": 1}, _ci),
    Chapter("closed", ("closed",), {}, _closed),
    Chapter("a repository that is renamed", ("access",), {"pages": 1}, _renamed),
    Chapter("a repository that becomes private", ("access",), {"pages": -1}, _made_private),
    Chapter("a repository that is deleted", ("access",), {"pages": -1}, _deleted),
    Chapter(
        "a wrong configuration where nothing is posted",
        ("review",),
        {},
        _refused,
        {"SPECBOT_POSTING": "shadow"},
    ),
)
